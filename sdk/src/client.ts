import { type Credential, openTokenSource } from './access.ts';
import { Decimal } from './decimal.ts';
import { AuthenticationError, isOutcomeUnknown, OutlayError } from './errors.ts';
import { writeJson } from './exact-json.ts';
import { operationTable } from './generated/operations.ts';
import type { CallOptions, Methods, Pages } from './methods.ts';
import { createKey, waitFor } from './platform.ts';
import { completeRetryPolicy, type RetryPolicy, withRetries } from './retry.ts';
import { type Fetch, type HttpAnswer, sendOnce } from './transport.ts';

export type Version = 'v0.1.0' | 'v0.1.1' | 'v0.1.2' | 'v0.1.3' | 'v0.1.4';

export type ClientOptions = {
  /** Such as `https://api.example.com`, without a version. */
  readonly baseUrl: string;
  readonly credential: Credential;
  readonly version?: Version;
  /** For each attempt. Default: 30 seconds. */
  readonly timeoutMs?: number;
  readonly retry?: Partial<RetryPolicy>;
  readonly fetch?: Fetch;
  /** Allows `http:` to another machine, where the credential travels in clear text. */
  readonly allowInsecure?: boolean;
};

type QueryValue =
  | string
  | number
  | boolean
  | Decimal
  | readonly string[]
  | Readonly<Record<string, string>>;

export type Query = Readonly<Record<string, QueryValue | undefined>>;

export type ApiRequest = {
  readonly method: string;
  /** From the version on, such as `/user/usr_1`. */
  readonly path: string;
  readonly isVersioned?: boolean;
  readonly query?: Query;
  readonly body?: unknown;
  /** Of a successful answer: any other one is an `UnexpectedAnswerError`. Default: all are accepted. */
  readonly mediaTypes?: readonly string[];
};

/** The operations of the API by name, and requests that have no name yet. */
export type Client = Methods & {
  request(request: ApiRequest, options?: CallOptions): Promise<HttpAnswer>;
};

/**
 * @throws TypeError for an address that would carry the credential in clear text, or is not usable; for an
 * API key that cannot be sent.
 */
export function createClient(options: ClientOptions): Client {
  const { credential, version = 'v0.1.4', timeoutMs = 30_000 } = options;
  const baseUrl = readBaseUrl(options);
  const retry = completeRetryPolicy(options.retry);
  const fetcher = options.fetch ?? ((...parameters) => globalThis.fetch(...parameters));
  const source = openTokenSource(credential, { baseUrl, fetch: fetcher, timeoutMs });

  const request: Client['request'] = async (call, callOptions = {}) => {
    const { method, isVersioned = true, body, query = {}, mediaTypes } = call;
    const { signal } = callOptions;
    requireOwnPath(call.path);
    const prefix = isVersioned ? `/${version}` : '';
    const url = `${baseUrl}${prefix}${call.path}${writeQuery(query)}`;
    const isWriting = method !== 'GET';
    const key = isWriting ? (callOptions.idempotencyKey ?? (await createKey())) : undefined;
    const sent = writeBody(body, callOptions);
    const limits = { timeoutMs: callOptions.timeoutMs ?? timeoutMs, signal };
    const hasEffect = isWriting && callOptions.dryRun !== true;
    let isRenewed = false;
    let outcomeUnknown = false;
    const send = async (): Promise<HttpAnswer> => {
      const token = await waitFor(source.token(), signal);
      const headers = {
        accept: callOptions.accept ?? 'application/json',
        authorization: `Bearer ${token}`,
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...(callOptions.dryRun === true ? { prefer: 'dry-run' } : {}),
        ...sent.headers,
      };
      try {
        const { body: text } = sent;
        return await sendOnce(fetcher, { method, url, headers, body: text, mediaTypes }, limits);
      } catch (error) {
        if (hasEffect && error instanceof OutlayError) {
          outcomeUnknown = isOutcomeUnknown(error, outcomeUnknown);
        }
        // A token can be revoked, or expire early by the clock of a sandbox.
        const isRefused = error instanceof AuthenticationError && !isRenewed;
        if (!isRefused || !source.renew(token)) throw error;
        isRenewed = true;
        return send();
      }
    };
    try {
      return await withRetries(retry, send, signal);
    } catch (error) {
      if (error instanceof OutlayError) {
        Object.assign(error, { idempotencyKey: key, outcomeUnknown });
      }
      throw error;
    }
  };
  return { ...createMethods(request), request };
}

function readBaseUrl({ baseUrl, allowInsecure = false }: ClientOptions): string {
  if (!/^https?:\/\//.test(baseUrl)) {
    throw new TypeError(`baseUrl must begin with https:// or http://: ${baseUrl}`);
  }
  const { protocol, hostname, username, password } = new URL(baseUrl);
  // Not repeated in the message: it may be logged.
  if (username !== '' || password !== '') {
    throw new TypeError('baseUrl must not have a user name or a password: use the credential');
  }
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol !== 'https:' && !isLocal && !allowInsecure) {
    throw new TypeError(`baseUrl must begin with https: ${baseUrl}`);
  }
  if (/[?#]/.test(baseUrl)) {
    throw new TypeError(`baseUrl must not have a query or a fragment: ${baseUrl}`);
  }
  const address = baseUrl.replace(/(?<!\/)\/+$/, '');
  if (/\/v\d+\.\d+\.\d+$/.test(address)) {
    throw new TypeError(`baseUrl must not end with a version, which is an option: ${baseUrl}`);
  }
  return address;
}

/** A map is written as `name[key]=value`, a list by repeating its name; members that are undefined are left out. */
function writeQuery(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return [];
    if (isList(value)) return value.map((item) => [name, item]);
    if (typeof value === 'string') return [[name, value]];
    if (value instanceof Decimal || typeof value !== 'object') return [[name, writeJson(value)]];
    return Object.entries(value).map(([key, member]) => [`${name}[${key}]`, member]);
  });
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

function isList(value: QueryValue): value is readonly string[] {
  return Array.isArray(value);
}

type SentBody = { body: string | undefined; headers: Record<string, string> };

function writeBody(body: unknown, { contentType = 'text/csv' }: CallOptions): SentBody {
  if (body === undefined) return { body: undefined, headers: {} };
  if (typeof body === 'string') return { body, headers: { 'content-type': contentType } };
  return { body: writeJson(body), headers: { 'content-type': 'application/json' } };
}

type Arguments = Readonly<Record<string, unknown>>;
type Operation = Pick<ApiRequest, 'method' | 'path' | 'isVersioned' | 'mediaTypes'>;
type Row = Operation & { readonly isPaged?: boolean };

function createMethods(request: Client['request']): Methods {
  const methods = Object.entries<Row>(operationTable).map(([name, { isPaged, ...operation }]) => [
    name,
    isPaged
      ? (values: Arguments = {}, options?: CallOptions) =>
          createPages((cursor) =>
            request(describeCall(operation, { ...values, ...cursor }), options),
          )
      : async (values: Arguments = {}, options?: CallOptions) =>
          (await request(describeCall(operation, values), options)).body,
  ]);
  return Object.fromEntries(methods) as Methods;
}

/** Arguments that the path names go there, `body` is the body, and the others are the query. */
function describeCall(operation: Operation, values: Arguments): ApiRequest {
  const { body, ...query } = { ...values };
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = query[name];
    delete query[name];
    if (typeof value !== 'string' || value === '') throw new TypeError(`${name} must be a text`);
    return encodeURIComponent(value);
  });
  return { ...operation, path, query: query as Query, body };
}

/**
 * Addresses are normalized before they are sent (RFC 3986, section 5.2.4), so `.`, `..` or nothing in the
 * place of a token would call another operation than the one that is named.
 */
function requireOwnPath(path: string): void {
  // The root alone has an empty part.
  if (path === '/') return;
  const [, ...segments] = path.split(/[?#]/, 1)[0]?.split(/[/\\]/) ?? [];
  const wrong = segments.find((segment) => /^(?:\.|%2e){0,2}$/i.test(segment));
  if (wrong === undefined) return;
  throw new TypeError(`The path ${path} has a part that is empty, "." or "..": pass a token there`);
}

type Cursor = { cursor?: string };

function createPages(read: (cursor: Cursor) => Promise<HttpAnswer>): Pages<unknown> {
  async function* pages(): AsyncGenerator<unknown[]> {
    let next: Cursor | undefined = {};
    while (next !== undefined) {
      const { body, headers }: HttpAnswer = await read(next);
      yield body as unknown[];
      next = findNextCursor(headers.get('link'));
    }
  }
  async function* rows(): AsyncGenerator {
    for await (const page of pages()) yield* page;
  }
  return { pages, [Symbol.asyncIterator]: rows };
}

/** Only the cursor of the link (RFC 8288) is used: the credential stays with the address it is for. */
function findNextCursor(link: string | null): Cursor | undefined {
  const target = /<([^<>]*)>\s*;\s*rel="next"/.exec(link ?? '')?.[1];
  if (target === undefined) return undefined;
  const cursor = new URL(target, 'http://localhost').searchParams.get('cursor');
  return cursor === null ? undefined : { cursor };
}
