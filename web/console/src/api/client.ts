import { type Client, createClient, type Query } from '../../../../sdk/src/client.ts';
import type { components } from '../../../../sdk/src/generated/api.ts';
import { takeEarly } from './early.ts';
import type { Session } from './session.ts';

/** The SDK as the console uses it: by the session's cookie, for one account. */

export type Schemas = components['schemas'];
export type Payout = Schemas['Payout'];
export type User = Schemas['User'];

export type Api = Client & {
  readonly account: string;
  /** One page of a list; `next` is the cursor of the one after it. */
  readPage<Row>(path: string, query: Query): Promise<Page<Row>>;
};

export type Page<Row> = { rows: Row[]; next: string | undefined };

type Access = { session: Session; account: string; onSignedOut: () => void };

export function createApi({ session, account, onSignedOut }: Access): Api {
  const client = createClient({
    baseUrl: globalThis.location.origin,
    // The origin is the console's own, and the cookie is the credential.
    allowInsecure: true,
    credential: { apiKey: 'session' },
    retry: { retries: 1 },
    fetch: async (input, init) => {
      const headers = new Headers(init?.headers);
      headers.delete('authorization');
      headers.set('outlay-account', account);
      if (init?.method !== 'GET') headers.set('outlay-csrf', session.csrf);
      const early = init?.method === 'GET' ? await takeEarly(account, input) : undefined;
      const response =
        early ?? (await fetch(input, { ...init, headers, credentials: 'same-origin' }));
      if (response.status === 401) onSignedOut();
      return response;
    },
  });
  const readPage: Api['readPage'] = async <Row>(path: string, query: Query) => {
    const { body, headers } = await client.request({ method: 'GET', path, query });
    return { rows: body as Row[], next: findCursor(headers.get('link')) };
  };
  return { ...client, account, readPage };
}

function findCursor(link: string | null): string | undefined {
  const target = /<([^<>]*)>\s*;\s*rel="next"/.exec(link ?? '')?.[1];
  if (target === undefined) return undefined;
  return new URL(target, globalThis.location.origin).searchParams.get('cursor') ?? undefined;
}
