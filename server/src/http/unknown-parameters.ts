import { z } from 'zod';
import type { Fault } from '../core/errors.ts';
import type { BaseServices, Route } from './route.ts';

/**
 * Refuses query parameters that an operation does not have. The specification's own operations
 * ignore them (docs/decisions/0019-unknown-parameters.md).
 */

/** Bounds the answer to a query with thousands of names. */
const faultsMax = 50;
const nameLengthMax = 100;

/** A key may be empty. */
export const metadataName = /^metadata\[(.*)\]$/;

/** The names of a route's parameters; `metadata[key]` stands for the search by metadata. */
function listKnownParameters<S extends BaseServices>(route: Route<S>): string[] {
  const named = route.query instanceof z.ZodObject ? Object.keys(route.query.shape) : [];
  return route.searchesMetadata === true ? [...named, 'metadata[key]'] : named;
}

/** One fault per unknown parameter; the first names the known ones. */
export function findUnknownParameters<S extends BaseServices>(
  route: Route<S>,
  given: Readonly<Record<string, unknown>>,
): Fault[] {
  if (route.method !== 'GET' || route.unknownParameters === 'ignored') return [];
  const names = Object.keys(given);
  if (names.length === 0) return [];
  const known = listKnownParameters(route);
  const unknown = names.filter(
    (name) =>
      !known.includes(name) && !(route.searchesMetadata === true && metadataName.test(name)),
  );
  const allowed = known.length === 0 ? 'no query parameters' : known.join(', ');
  return unknown.slice(0, faultsMax).map((name, index) => {
    const detail = `${name.slice(0, nameLengthMax)} is not a query parameter of this operation`;
    return {
      parameter: name,
      code: 'unknown_parameter',
      detail: index === 0 ? `${detail}, which allows ${allowed}` : detail,
    };
  });
}
