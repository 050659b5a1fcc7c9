import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { type AdyenConfig, getApiUrl } from './config.ts';
import { type ApiClient, type ApiResult, createApiClient } from './http-client.ts';
import { describeFault, type Transfer, transferPageSchema, transferSchema } from './wire.ts';

/** The calls of the Transfers API, version 4, and of the Configuration API, version 2. */

export type AdyenApi = {
  readonly call: ApiClient;
  /** `body` is sent as it is. */
  createTransfer(body: string, idempotencyKey: string, signal: AbortSignal): Promise<ApiResult>;
  getTransfer(id: string, signal: AbortSignal): Promise<ApiResult>;
  /** Only transfers that wait for an approval can be canceled. */
  cancelTransfer(id: string, signal: AbortSignal): Promise<ApiResult>;
  /** One page of the balance account's transfers, by the time of their creation. */
  listTransfers(query: TransferQuery, signal: AbortSignal): Promise<TransferPage>;
  getBalanceAccount(signal: AbortSignal): Promise<ApiResult>;
};

export type TransferQuery = {
  /** Real time. At most six months apart. */
  readonly createdSinceMs: number;
  readonly createdUntilMs: number;
  readonly reference?: string;
  readonly cursor?: string;
  /** The oldest first when absent. */
  readonly isNewestFirst?: boolean;
  /** 100 when absent. */
  readonly limit?: number;
};

/** Without the described form; `id` and `reference` where they can be read. */
export type UnreadableTransfer = {
  readonly id: string | undefined;
  readonly reference: string | undefined;
  readonly fault: string;
  readonly raw: Uint8Array;
};

export type TransferPage =
  | {
      readonly ok: true;
      /** Outgoing ones that can be read. */
      readonly transfers: readonly { readonly transfer: Transfer; readonly raw: Uint8Array }[];
      readonly unreadable: readonly UnreadableTransfer[];
      /** Undefined on the last page. */
      readonly nextCursor: string | undefined;
    }
  | { readonly ok: false; readonly result: ApiResult };

export const pageSize = 100;

export function createAdyenApi(config: AdyenConfig, host: RailHost): AdyenApi {
  const call = createApiClient({
    apiKey: config.apiKey,
    fetch: host.fetch,
    timeoutMs: config.timeoutSeconds * 1000,
    realNowMs: host.realNowMs,
  });
  const apiUrl = getApiUrl(config);
  const transfersUrl = `${apiUrl}/btl/v4/transfers`;
  const { balanceAccountId } = config;
  return {
    call,
    createTransfer: (body, idempotencyKey, signal) =>
      call({ method: 'POST', url: transfersUrl, body, idempotencyKey, signal }),
    getTransfer: (id, signal) =>
      call({ method: 'GET', url: `${transfersUrl}/${encodeURIComponent(id)}`, signal }),
    cancelTransfer: (id, signal) =>
      call({
        method: 'POST',
        url: `${transfersUrl}/cancel`,
        body: JSON.stringify({ transferIds: [id] }),
        idempotencyKey: `cancel-${id}`.slice(0, 64),
        signal,
      }),
    listTransfers: async (query, signal) => {
      const search = describeSearch(query, balanceAccountId);
      return readPage(
        await call({ method: 'GET', url: `${transfersUrl}?${search.toString()}`, signal }),
      );
    },
    getBalanceAccount: (signal) =>
      call({ method: 'GET', url: `${apiUrl}/bcl/v2/balanceAccounts/${balanceAccountId}`, signal }),
  };
}

function describeSearch(query: TransferQuery, balanceAccountId: string): URLSearchParams {
  return new URLSearchParams({
    balanceAccountId,
    createdSince: formatTime(query.createdSinceMs),
    createdUntil: formatTime(query.createdUntilMs),
    sortOrder: query.isNewestFirst === true ? 'desc' : 'asc',
    limit: String(query.limit ?? pageSize),
    ...(query.reference !== undefined && { reference: query.reference }),
    ...(query.cursor !== undefined && { cursor: query.cursor }),
  });
}

function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

function readPage(result: ApiResult): TransferPage {
  if (result.kind !== 'answered' || result.status !== 200) return { ok: false, result };
  const page = transferPageSchema.safeParse(result.json);
  if (!page.success) return { ok: false, result };
  const transfers: { transfer: Transfer; raw: Uint8Array }[] = [];
  const unreadable: UnreadableTransfer[] = [];
  for (const entry of page.data.data) {
    const { success, data: transfer, error } = transferSchema.safeParse(entry);
    const raw = Buffer.from(JSON.stringify(entry));
    if (!success) unreadable.push({ ...readNames(entry), fault: describeFault(error), raw });
    else if (transfer.direction !== 'incoming') transfers.push({ transfer, raw });
  }
  const nextCursor = readCursor(page.data['_links']?.next?.href);
  return { ok: true, transfers, unreadable, nextCursor };
}

function readNames(entry: unknown): Pick<UnreadableTransfer, 'id' | 'reference'> {
  const { id, reference } = transferSchema.shape;
  return {
    id: z.object({ id }).safeParse(entry).data?.id,
    reference: z.object({ reference }).safeParse(entry).data?.reference,
  };
}

/** Only the cursor is taken from a link, so that no request goes to an address of the answer. */
function readCursor(href: string | undefined): string | undefined {
  if (href === undefined) return undefined;
  const url = URL.parse(href, 'https://adyen.invalid');
  return url?.searchParams.get('cursor') ?? undefined;
}
