import type { RequiredField } from '../contract/requirements.ts';
import { matchesForeignPattern } from './patterns.ts';

/** How the counterparty gets the value of an attribute. */
export function writeForField({ isCompact }: RequiredField, value: string): string {
  return isCompact ? value.replaceAll(/[\s-]/g, '') : value;
}

/** The choice that a value means, in the counterparty's spelling; undefined: none of them. */
export function findChoice({ choices }: RequiredField, value: string): string | undefined {
  const exact = choices?.find((one) => one.value === value);
  if (exact !== undefined) return exact.value;
  const wanted = value.toLowerCase();
  return choices?.find((one) => one.value.toLowerCase() === wanted)?.value;
}

/** Whether the counterparty would take a value that is written for the field. */
export function fitsField(field: RequiredField, written: string): boolean {
  const { lengthMin, lengthMax, pattern, choices } = field;
  if (choices !== undefined && findChoice(field, written) === undefined) return false;
  if (lengthMin !== undefined && written.length < lengthMin) return false;
  if (lengthMax !== undefined && written.length > lengthMax) return false;
  // An expression in another dialect: the counterparty checks the value when it gets it.
  return (
    pattern === undefined || pattern === '' || matchesForeignPattern(pattern, written) !== false
  );
}
