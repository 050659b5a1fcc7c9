import { runInSpan, type Tracing } from './tracing.ts';

/**
 * A `fetch` that passes the trace on: the counterparty gets `traceparent`. The span names its host and
 * not the path, which may hold a reference.
 */
export function traceFetch(fetchPlain: typeof fetch, tracing: Tracing | undefined): typeof fetch {
  if (tracing === undefined) return fetchPlain;
  return (input, init) => {
    const active = tracing.active();
    if (active === undefined) return fetchPlain(input, init);
    const continued = (): RequestInit => {
      const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : {}));
      for (const [name, value] of Object.entries(tracing.headers())) headers.set(name, value);
      return { ...init, headers };
    };
    if (!active.isRecorded) return fetchPlain(input, continued());
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
    const { hostname } = new URL(input instanceof Request ? input.url : input);
    const attributes = { 'http.request.method': method, 'server.address': hostname };
    return runInSpan(tracing, { name: method, kind: 'client', attributes }, async (span) => {
      const response = await fetchPlain(input, continued());
      span.set({ 'http.response.status_code': response.status });
      if (response.status >= 400) span.fail(String(response.status));
      return response;
    });
  };
}
