import type { AdyenBooks, SimulatedTransfer } from './adyen-books.ts';
import { orderSchema, type SentOrder } from './order-checks.ts';
import type { SimulatorOptions } from './simulator-options.ts';
import { describeTransfer, describeTransferData, type Lifecycle } from './transfer-lifecycle.ts';

/** The answers of the Transfers and Configuration APIs. */

export type Answer = { readonly status: number; readonly body: unknown };

export type ApiSetup = {
  readonly books: AdyenBooks;
  readonly lifecycle: Lifecycle;
  readonly options: () => SimulatorOptions;
  readonly nowMs: () => number;
  readonly balanceAccountId: string;
  readonly balances: ReadonlyMap<string, { balance: number; reserved: number }>;
};

const titles: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** `TransferServiceRestServiceError`. */
export function refuse(status: number, errorCode: string, extras: object = {}): Answer {
  const title = titles[status] ?? 'Error';
  return {
    status,
    body: {
      type: `https://docs.adyen.com/errors/${status}`,
      errorCode,
      title,
      detail: title,
      status,
      requestId: 'SIMULATED00000000',
      ...extras,
    },
  };
}

/** `ServiceError`: what an order without a valid key gets. */
export const unauthorizedOrder: Answer = {
  status: 401,
  body: {
    status: 401,
    errorCode: '000',
    message: 'HTTP Status Response - Unauthorized',
    errorType: 'security',
  },
};

export function createTransfer(setup: ApiSetup, json: unknown): Answer {
  const parsed = orderSchema.safeParse(json);
  if (!parsed.success) {
    const invalidFields = parsed.error.issues.map(({ path, message }) => ({
      name: path.map(String).join('.') || 'request',
      value: '',
      message,
    }));
    return refuse(422, '30_014', { invalidFields });
  }
  const order = parsed.data;
  if (order.balanceAccountId !== setup.balanceAccountId) {
    const field = { name: 'balanceAccountId', value: '', message: 'is not known' };
    return refuse(422, '30_001', { invalidFields: [field] });
  }
  const unknown = findUnknown(setup, order);
  if (unknown !== undefined) {
    const field = { name: `counterparty.${unknown}`, value: '', message: 'is not known' };
    return refuse(422, '30_001', { invalidFields: [field] });
  }
  const route = findRoute(order, setup.options().routes);
  if ('routingDetails' in route) return refuse(422, '30_112', route);
  return { status: 202, body: describeTransfer(setup.lifecycle.create(order, route.priority)) };
}

/** The ID of the counterparty that Adyen does not have, by its name. */
function findUnknown({ books, options }: ApiSetup, { counterparty }: SentOrder) {
  const { card, balanceAccountId, transferInstrumentId } = counterparty;
  const isUnknown = (id: string): boolean => new RegExp(options().unknownPattern).test(id);
  if (balanceAccountId !== undefined && isUnknown(balanceAccountId)) return 'balanceAccountId';
  if (transferInstrumentId !== undefined && isUnknown(transferInstrumentId)) {
    return 'transferInstrumentId';
  }
  if (card === undefined || !('storedPaymentMethodId' in card.cardIdentification)) return undefined;
  const { storedPaymentMethodId: token } = card.cardIdentification;
  // A token belongs to the cardholder under whose reference it was stored; the first use shows whose.
  const owner = books
    .list()
    .map(({ order }) => order.counterparty.card)
    .find((known) => known !== undefined && tokenOf(known) === token)?.cardHolder.reference;
  const isForeign = owner !== undefined && owner !== card.cardHolder.reference;
  return isUnknown(token) || isForeign
    ? 'card.cardIdentification.storedPaymentMethodId'
    : undefined;
}

function tokenOf({ cardIdentification: card }: NonNullable<SentOrder['counterparty']['card']>) {
  return 'storedPaymentMethodId' in card ? card.storedPaymentMethodId : undefined;
}

/** The first of the priorities that has a route. */
function findRoute(
  { category, priority, priorities = priority === undefined ? [] : [priority] }: SentOrder,
  routes: readonly string[],
): { priority: string | undefined } | { routingDetails: object[] } {
  if (category !== 'bank') return { priority: undefined };
  const chosen = priorities.find((one) => routes.includes(one));
  if (chosen !== undefined) return { priority: chosen };
  return {
    routingDetails: priorities.map((one) => ({
      priority: one,
      errorCode: '30_112',
      title: 'Route not found',
      detail: 'There is no route.',
    })),
  };
}

export function getTransfer({ books }: ApiSetup, id: string): Answer {
  const transfer = books.transfers.get(id);
  if (transfer === undefined) return refuse(422, '30_031');
  return { status: 200, body: describeTransferData(transfer) };
}

const sixMonthsMs = 184 * 24 * 3_600_000;

export function listTransfers(setup: ApiSetup, query: URLSearchParams): Answer {
  const since = Date.parse(query.get('createdSince') ?? '');
  const until = Date.parse(query.get('createdUntil') ?? '');
  const limit = Number(query.get('limit') ?? '10');
  const isScoped = ['balanceAccountId', 'accountHolderId', 'balancePlatform'].some((name) =>
    query.has(name),
  );
  const isRange = until >= since && until - since <= sixMonthsMs;
  if (!isScoped || !isRange || !Number.isInteger(limit) || limit < 1 || limit > 100) {
    return refuse(422, '30_011');
  }
  const found = setup.books
    .list()
    .filter((transfer) => isListed(setup, transfer, { query, since, until }));
  if (query.get('sortOrder') === 'desc') found.reverse();
  const from = readCursor(query.get('cursor'));
  const next = from + Math.min(limit, setup.options().pageMax);
  const link = (offset: number) => {
    const search = new URLSearchParams(query);
    search.set('cursor', Buffer.from(String(offset)).toString('base64url'));
    return {
      href: `https://balanceplatform-api-test.adyen.com/btl/v4/transfers?${search.toString()}`,
    };
  };
  return {
    status: 200,
    body: {
      data: found.slice(from, next).map(describeTransferData),
      _links: {
        ...(next < found.length && { next: link(next) }),
        ...(from > 0 && { prev: link(Math.max(0, from - limit)) }),
      },
    },
  };
}

function isListed(
  { options, nowMs }: ApiSetup,
  { createdAtMs, order, reference }: SimulatedTransfer,
  { query, since, until }: { query: URLSearchParams; since: number; until: number },
): boolean {
  const isShown = nowMs() - createdAtMs >= options().listLagMs;
  const account = query.get('balanceAccountId') ?? order.balanceAccountId;
  return (
    isShown &&
    account === order.balanceAccountId &&
    (query.get('reference') ?? reference) === reference &&
    (query.get('category') ?? order.category) === order.category &&
    createdAtMs >= since &&
    createdAtMs <= until
  );
}

function readCursor(cursor: string | null): number {
  if (cursor === null) return 0;
  const offset = Number(Buffer.from(cursor, 'base64url').toString());
  return Number.isInteger(offset) && offset >= 0 ? offset : 0;
}

export function decideTransfers(
  { books, lifecycle }: ApiSetup,
  decision: 'approve' | 'cancel',
  json: unknown,
): Answer {
  const ids: unknown = (json as { transferIds?: unknown } | undefined)?.transferIds;
  if (!Array.isArray(ids)) return refuse(422, '30_011');
  for (const id of ids) {
    const transfer = books.transfers.get(String(id));
    if (transfer === undefined) return refuse(422, '30_031');
    lifecycle[decision](transfer);
  }
  return { status: 200, body: {} };
}

export function getBalanceAccount(setup: ApiSetup, id: string): Answer {
  if (id !== setup.balanceAccountId) return refuse(422, '30_001');
  return {
    status: 200,
    body: {
      id,
      accountHolderId: 'AH00000000000000000000001',
      defaultCurrencyCode: 'EUR',
      status: 'active',
      balances: [...setup.balances].map(([currency, { balance, reserved }]) => ({
        currency,
        balance,
        reserved,
        available: balance - reserved,
        pending: 0,
      })),
    },
  };
}
