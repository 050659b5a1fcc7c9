import { z } from 'zod';
import type { Fault } from '../core/errors.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { findMeant } from '../core/nearest-word.ts';
import type { BaseServices, Route } from './route.ts';

/**
 * Refuses other spellings of members that an operation has: a misspelled `scheduled_for` would pay now, a
 * misspelled `scopes` would give a credential all of them. Other unknown members are ignored
 * (docs/decisions/0090-unknown-members.md).
 */

/** Bound the answer to a body with thousands of names, and the time that it takes. */
const faultsMax = 50;
const judgedMax = 1000;
const nameLengthMax = 100;

/** One fault for each unknown member that looks like an absent one. */
export function findUnknownMembers<S extends BaseServices>(
  { body, unknownMembers }: Pick<Route<S>, 'body' | 'unknownMembers'>,
  json: unknown,
): Fault[] {
  if (unknownMembers === 'ignored' || !(body instanceof z.ZodObject) || !isObject(json)) return [];
  const known = Object.keys(body.shape);
  return Object.keys(json)
    .filter((name) => !known.includes(name))
    .slice(0, judgedMax)
    .flatMap((name) => {
      const meant = findMeant(name, known);
      return meant === undefined || Object.hasOwn(json, meant) ? [] : [describeFault(name, meant)];
    })
    .slice(0, faultsMax);
}

const describeFault = (name: string, meant: string): Fault => ({
  pointer: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
  code: 'unknown_member',
  detail: `${name.slice(0, nameLengthMax)} is not a member of this request: did you mean ${meant}?`,
});

function isObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return (
    typeof json === 'object' &&
    json !== null &&
    !Array.isArray(json) &&
    !(json instanceof JsonNumber)
  );
}
