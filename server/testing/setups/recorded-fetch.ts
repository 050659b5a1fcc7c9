import type { DescribedExchange } from './openapi-description.ts';

/** `fetch`, and every exchange that went through it. */
export function recordExchanges(): {
  readonly exchanges: readonly DescribedExchange[];
  readonly fetch: typeof fetch;
} {
  const exchanges: DescribedExchange[] = [];
  return {
    exchanges,
    fetch: async (input, init = {}) => {
      const response = await fetch(input, init);
      const { pathname, search } = new URL(input instanceof Request ? input.url : input);
      exchanges.push({
        method: init.method ?? 'GET',
        path: pathname + search,
        headers: Object.fromEntries(new Headers(init.headers)),
        body: typeof init.body === 'string' ? init.body : '',
        status: response.status,
        answer: await response.clone().text(),
      });
      return response;
    },
  };
}
