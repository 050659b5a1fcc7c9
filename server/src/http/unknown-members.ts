import { z } from 'zod';
import type { Fault } from '../core/errors.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { findMeant } from '../core/nearest-word.ts';
import type { BaseServices, Route } from './route.ts';

/**
 * Refuses members of a body that an operation does not have: a misspelled `scheduled_for` would pay
 * now, a misspelled `scopes` would give a credential all of them. The specification's own operations
 * ignore unknown members, except those that look like one that is absent
 * (docs/decisions/0090-unknown-members.md).
 */

/** Bounds the answer to a body with thousands of names. */
const faultsMax = 50;
const nameLengthMax = 100;

/** One fault per unknown member; the first names the known ones. */
export function findUnknownMembers<S extends BaseServices>(
  route: Pick<Route<S>, 'body' | 'unknownMembers'>,
  json: unknown,
): Fault[] {
  const { body, unknownMembers } = route;
  if (unknownMembers === 'ignored' || !(body instanceof z.ZodObject) || !isObject(json)) return [];
  const known = Object.keys(body.shape);
  const unknown = Object.keys(json).filter((name) => !known.includes(name));
  if (unknown.length === 0) return [];
  if (unknownMembers === 'ignored unless misspelled') {
    return describeAll(unknown, (name) => {
      const meant = findMeant(name, known);
      if (meant === undefined || Object.hasOwn(json, meant)) return undefined;
      return `: did you mean ${meant}?`;
    });
  }
  return describeAll(unknown, (_name, index) => (index === 0 ? allow(known) : ''));
}

function allow(known: readonly string[]): string {
  return `, which allows ${known.length === 0 ? 'no members' : known.join(', ')}`;
}

function describeAll(
  names: readonly string[],
  end: (name: string, index: number) => string | undefined,
): Fault[] {
  return names
    .map((name, index) => ({ name, ending: end(name, index) }))
    .filter(({ ending }) => ending !== undefined)
    .slice(0, faultsMax)
    .map(({ name, ending }) => ({
      pointer: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      code: 'unknown_member',
      detail: `${name.slice(0, nameLengthMax)} is not a member of this request${ending}`,
    }));
}

function isObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return (
    typeof json === 'object' &&
    json !== null &&
    !Array.isArray(json) &&
    !(json instanceof JsonNumber)
  );
}
