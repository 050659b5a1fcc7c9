import { fitsField } from '../kit/required-fields.ts';
import { describeField } from './account-forms.ts';
import type { RequirementForm } from './protocol.ts';

/** A required field of the transfer that the operator's details leave out or do not fill validly. */
export function findUnfilledTransferField(
  forms: readonly RequirementForm[],
  details: Readonly<Record<string, string>>,
): string | undefined {
  for (const field of forms.flatMap((form) => form.fields.flatMap(({ group }) => group))) {
    const value = details[field.key] ?? '';
    const isPermitted =
      field.valuesAllowed === undefined || field.valuesAllowed.some(({ key }) => key === value);
    const isUnfilled =
      value === '' ? field.required : !isPermitted || !fitsField(describeField(field), value);
    if (isUnfilled) return field.key;
  }
  return undefined;
}
