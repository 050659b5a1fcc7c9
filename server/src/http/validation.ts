import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import {
  AppError,
  codes,
  describeFaults,
  type Fault,
  type FaultCode,
  isErrorCode,
  throwFaults,
} from '../core/errors.ts';
import {
  type ExactJson,
  formatPointer,
  JsonFault,
  JsonNumber,
  parseExactBytes,
} from '../core/exact-json.ts';
import { readMediaType } from './content-type.ts';
import type { BaseServices, Input, Route } from './route.ts';
import { findUnknownMembers } from './unknown-members.ts';
import { findUnknownParameters } from './unknown-parameters.ts';

/** Turns a request into a handler's input, or into all of its faults at once. */

export type RawInput = {
  params: unknown;
  query: unknown;
  body: Buffer | undefined;
  contentType: string | undefined;
  contentEncoding: string | undefined;
};

export type CheckedInput = Input<unknown, unknown, unknown> & {
  /** The body before its schema was applied: an idempotency key is bound to it. */
  readonly json: ExactJson | undefined;
};

/** @throws AppError unsupported_media_type, malformed_json, unknown_parameter, invalid_request. */
export function checkInput<S extends BaseServices>(
  route: Route<S>,
  raw: RawInput,
  env: S,
): CheckedInput {
  const json = route.body === undefined ? undefined : readJson(raw);
  const given = raw.query as Record<string, unknown>;
  const unknown = findUnknownParameters(route, given);
  const faults: Fault[] = [...unknown];
  for (const name in given) {
    if (!`${name}${String(given[name])}`.includes('\0')) continue;
    const detail = 'Query parameters must not contain the NUL character';
    faults.push({ parameter: name, code: 'invalid_value', detail });
  }
  const check = (schema: z.ZodType | undefined, value: unknown, locate: Locate): unknown => {
    const result = schema?.safeParse(value);
    if (result === undefined || result.success) return result?.data;
    faults.push(...describeIssues(result.error.issues, value, locate));
    return undefined;
  };
  const params = check(route.params, raw.params, locateParameter);
  const query = check(route.query, raw.query, locateParameter);
  // A number in the body is an instance of a class, which the schemas take for an object.
  const isNumber = json instanceof JsonNumber;
  if (isNumber) {
    faults.push({ pointer: '', code: 'invalid_type', detail: 'The body must not be a number' });
  }
  const body = isNumber ? undefined : check(route.body, json, locatePointer);
  faults.push(...findUnknownMembers(route, json));
  if (json !== undefined && !isNumber) faults.push(...(route.findFaults?.(env, json) ?? []));
  throwFaults(faults, unknown.length > 0 ? 'unknown_parameter' : 'invalid_request');
  return { params, query, body, json };
}

/** The error of `checkInput`, with the faults that only the account's settings tell. */
export async function addAccountFaults<S extends BaseServices>(
  error: unknown,
  { route, raw }: { route: Route<S>; raw: RawInput },
  { env, accountId }: { env: S; accountId: string },
): Promise<unknown> {
  const { findAccountFaults } = route;
  if (findAccountFaults === undefined) return error;
  if (!(error instanceof AppError) || error.code !== 'invalid_request') return error;
  const added = await findAccountFaults(env, accountId, readJson(raw));
  const [first] = added;
  if (first === undefined) return error;
  // A rule with a code of its own keeps it, whatever else is wrong.
  const code = isErrorCode(first.code) ? first.code : undefined;
  return describeFaults([...(error.options.faults ?? []), ...added], code);
}

/** The JSON body of a request whose route is not declared. @throws as `checkInput` does. */
export function checkBody<T>(schema: z.ZodType<T>, request: FastifyRequest): T {
  const json = readJson({
    params: undefined,
    query: undefined,
    body: Buffer.isBuffer(request.body) ? request.body : undefined,
    contentType: request.headers['content-type'],
    contentEncoding: request.headers['content-encoding'],
  });
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  throwFaults(describeIssues(result.error.issues, json, locatePointer));
  throw new Error('unreachable: a failed check has faults');
}

/** @throws AppError unsupported_media_type */
export function refuseCompressed(contentEncoding: string | undefined): void {
  if (['', 'identity'].includes(contentEncoding?.toLowerCase() ?? '')) return;
  throw new AppError(
    'unsupported_media_type',
    'The body must not be compressed: omit Content-Encoding',
    // RFC 9110 12.5.3: absent from the answer to a media type that is not supported.
    { headers: { 'accept-encoding': 'identity' } },
  );
}

function readJson(raw: RawInput): ExactJson {
  refuseCompressed(raw.contentEncoding);
  if (readMediaType(raw.contentType) !== 'application/json') {
    throw new AppError('unsupported_media_type', 'Content-Type must be application/json, in UTF-8');
  }
  try {
    return parseExactBytes(raw.body ?? Buffer.alloc(0));
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const { message, place, pointer } = error;
    const detail = place === '' ? message : `${message} at ${place}`;
    throw new AppError('malformed_json', detail, {
      faults: [{ pointer, code: 'malformed_json', detail }],
      cause: error,
    });
  }
}

type Locate = (path: readonly PropertyKey[]) => Pick<Fault, 'pointer' | 'parameter'>;

const locateParameter: Locate = (path) => ({ parameter: path.join('.') });
const locatePointer: Locate = (path) => ({ pointer: formatPointer(path) });

/** A value of another type has no other faults: those of its length would mislead. */
function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  locate: Locate,
): Fault[] {
  const placeOf = (issue: z.core.$ZodIssue): string => issue.path.map(String).join('/');
  const meant = issues.flatMap(listMeant);
  const mistyped = new Set(meant.filter(({ code }) => code === 'invalid_type').map(placeOf));
  return meant
    .filter((issue) => issue.code === 'invalid_type' || !mistyped.has(placeOf(issue)))
    .map((issue) => describeIssue(issue, value, locate));
}

/** Of a value that is neither a literal nor of the other schema, the issues of that schema. */
function listMeant(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const [schema, ...others] = issue.errors.filter((branch) =>
    branch.some(({ code }) => code !== 'invalid_value'),
  );
  if (schema === undefined || others.length > 0) return [issue];
  return schema.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

export function describeIssue(issue: z.core.$ZodIssue, value: unknown, locate: Locate): Fault {
  const at = findAt(value, issue.path);
  if (locate === locateParameter && isRepeated(at, issue)) {
    const name = issue.path.join('.');
    return { parameter: name, code: 'duplicate', detail: `${name} must be given once` };
  }
  const isMissing = at === undefined;
  return {
    ...locate(issue.path),
    code: isMissing ? 'required' : codeOf(issue),
    detail: `${issue.path.join('.') || 'The body'} ${isMissing ? 'is required' : describe(issue)}`,
  };
}

/** A parameter of one value that is given more than once is an array. */
function isRepeated(at: unknown, { code }: z.core.$ZodIssue): boolean {
  return Array.isArray(at) && (code === 'invalid_type' || code === 'invalid_value');
}

function codeOf(issue: z.core.$ZodIssue): FaultCode {
  const named = issue.code === 'custom' && codes.find((code) => code === issue.params?.['code']);
  if (typeof named === 'string') return named;
  switch (issue.code) {
    case 'invalid_type':
      return 'invalid_type';
    case 'too_big':
      return 'too_long';
    case 'too_small':
      return 'too_short';
    default:
      return 'invalid_value';
  }
}

/** Never repeats the value, which may be personal data. */
function describe(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${issue.expected === 'object' ? 'an object' : `of type ${issue.expected}`}`;
    case 'too_big':
      return `must have at most ${countOf(issue.maximum, issue.origin)}`;
    case 'too_small':
      return `must have at least ${countOf(issue.minimum, issue.origin)}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'unrecognized_keys':
      return `must not have the members ${issue.keys.join(', ')}`;
    case 'custom':
    // Every form has words of its own (validation.test.ts).
    case 'invalid_format':
      return issue.message;
    default:
      return 'does not have the required form';
  }
}

function countOf(count: number | bigint, origin: string): string {
  const unit = origin === 'string' ? 'character' : 'item';
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

function findAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || at instanceof JsonNumber) return undefined;
    at = (at as Record<PropertyKey, unknown>)[key];
  }
  return at;
}
