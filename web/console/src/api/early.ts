/**
 * Answers that the page itself asked for while the program was loaded (index.html), each for the first
 * query that asks the same.
 */

declare global {
  /** By account and path with its search. */
  var outlayReads: Map<string, Promise<Response>> | undefined;
}

/** Undefined where it was not asked for, or failed: the query asks again, and says why. */
export async function takeEarly(
  account: string,
  input: RequestInfo | URL,
): Promise<Response | undefined> {
  const url = input instanceof Request ? input.url : input;
  const { pathname, search } = new URL(url, globalThis.location.origin);
  const name = `${account} ${pathname}${search}`;
  const answer = globalThis.outlayReads?.get(name);
  globalThis.outlayReads?.delete(name);
  return answer?.catch(() => undefined);
}
