import { open } from 'node:fs/promises';
import { readBounded } from '../core/bounded-body.ts';

export type SourceText = { ok: true; text: string } | { ok: false; fault: string };

export type ReadOptions = {
  fetch: typeof fetch;
  /**
   * `same_origin` (the default) follows redirects only within scheme, host and port of the
   * configured address. `any_https` follows them to any https address, for publishers with separate
   * file hosts.
   */
  redirects?: 'same_origin' | 'any_https';
  bytesMax?: number;
  timeoutMs?: number;
};

/** The bank's full history since 1999 is about 8 MB. */
const bytesMaxDefault = 16 * 1_048_576;
const timeoutMsDefault = 20_000;
const redirectsMax = 3;

/**
 * The text (UTF-8) of a file or an https address. http is accepted for loopback addresses only,
 * because an attacker who can change the text in transit sets the prices. External failures (no such file,
 * no response, too large, not UTF-8) are returned, not thrown.
 */
export async function readSource(location: string, options: ReadOptions): Promise<SourceText> {
  const bytesMax = options.bytesMax ?? bytesMaxDefault;
  try {
    const bytes = /^[a-z][a-z0-9+.-]*:\/\//i.test(location)
      ? await readAddress(location, { ...options, bytesMax })
      : await readFileBytes(location, bytesMax);
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    return {
      ok: false,
      fault: `${describeLocation(location)} could not be read: ${explain(error)}`,
    };
  }
}

/** The reason of a failed `fetch` is the cause of its error. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/** The location without the parts of an address that may be secret: user, password, query. */
export function describeLocation(location: string): string {
  const url = URL.canParse(location) ? new URL(location) : undefined;
  return url === undefined || url.host === '' ? location : `${url.origin}${url.pathname}`;
}

async function readFileBytes(path: string, bytesMax: number): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const status = await file.stat();
    if (!status.isFile()) throw new Error('not a file');
    if (status.size > bytesMax) throw new Error(`larger than ${bytesMax} bytes`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

async function readAddress(
  location: string,
  options: ReadOptions & { bytesMax: number },
): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(options.timeoutMs ?? timeoutMsDefault);
  let url = new URL(location);
  checkScheme(url);
  for (let redirects = 0; redirects <= redirectsMax; redirects += 1) {
    const answer = await options.fetch(url, { redirect: 'manual', signal });
    const target = answer.headers.get('location');
    if (answer.status >= 300 && answer.status < 400 && target !== null) {
      await answer.body?.cancel();
      url = resolveRedirect(url, target, options.redirects);
      continue;
    }
    if (answer.status !== 200) {
      await answer.body?.cancel();
      throw new Error(`HTTP status ${answer.status}`);
    }
    const body = await readBounded(answer, options.bytesMax);
    if (body === undefined) throw new Error(`larger than ${options.bytesMax} bytes`);
    return body;
  }
  throw new Error(`more than ${redirectsMax} redirects`);
}

function checkScheme({ protocol, hostname }: URL): void {
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return;
  if (protocol === 'http:') throw new Error('the address must be https, except on a loopback host');
  throw new Error(`${protocol} is not https`);
}

/** URL writes every spelling of an IPv4 address as four decimal numbers. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);
}

/**
 * A source that redirects to another host could make the service read an address that only the
 * service can reach.
 */
function resolveRedirect(from: URL, target: string, rule: ReadOptions['redirects']): URL {
  const next = new URL(target, from);
  if (next.origin === from.origin && next.protocol === from.protocol) return next;
  if (next.protocol !== 'https:') {
    throw new Error(`redirect to ${describeLocation(next.href)}, which is not https`);
  }
  if (rule === 'any_https') return next;
  throw new Error(`redirect to another host (${next.host}): configure that address instead`);
}
