import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { JsonNumber } from '../../../src/core/exact-json.ts';
import {
  type BatchGroup,
  describeQuote,
  describeTransfer,
  isServed,
  priceQuote,
  type Quote,
  quoteMs,
  type Transfer,
  toMinor,
  toNumber,
} from './books.ts';
import { describeForm, listFieldFaults, transferForm } from './forms.ts';
import { type Answer, type Handler, missing, ok, refuse, type Simulation } from './operation.ts';
import { type Subscription, triggers } from './webhooks.ts';

/** The operations of the simulated Wise that the rail and its tests use. */

const quoteBody = z.object({
  sourceCurrency: z.string(),
  targetCurrency: z.string(),
  sourceAmount: z.number().nullish(),
  targetAmount: z.number().nullish(),
  payOut: z.string().default('BANK_TRANSFER'),
});

const createQuote: Handler = ({ simulation, body }) => {
  const asked = quoteBody.safeParse(body);
  if (!asked.success) return refuse(422, 'NOT_VALID');
  const { sourceCurrency, targetCurrency, sourceAmount, targetAmount, payOut } = asked.data;
  if (!isServed(sourceCurrency) || !isServed(targetCurrency)) {
    return refuse(422, 'error.route.not.supported', 'targetCurrency');
  }
  // Exactly one of the two.
  if ((sourceAmount ?? 0) > 0 === (targetAmount ?? 0) > 0)
    return refuse(422, 'NOT_VALID', 'amount');
  const sourceMinor = toMinor(sourceAmount ?? 0, sourceCurrency);
  const targetMinor = toMinor(targetAmount ?? 0, targetCurrency);
  if (sourceMinor === undefined && targetMinor === undefined)
    return refuse(422, 'NOT_VALID', 'amount');
  // An order asks for the amount that arrives, a reading of prices for amounts that are sent.
  const pricing = simulation.pricing();
  const { orderFixedMinor = pricing.fixedMinor } = pricing;
  const quote = priceQuote(
    { sourceCurrency, targetCurrency, sourceMinor, targetMinor, payOut },
    targetMinor === undefined ? pricing : { ...pricing, fixedMinor: orderFixedMinor },
    simulation.nowMs(),
  );
  if (quote.targetMinor <= 0n) return refuse(422, 'error.amount.too.low', 'amount');
  simulation.books.quotes.set(quote.id, quote);
  return ok(describe(simulation, quote));
};

function describe(simulation: Simulation, quote: Quote): object {
  const { profileId } = simulation;
  return describeQuote(quote, {
    profileId,
    nowMs: simulation.nowMs(),
    limitMinor: simulation.limitMinor(),
  });
}

const readQuote: Handler = ({ simulation, params }) => {
  const quote = simulation.books.quotes.get(params[1] ?? '');
  return quote === undefined ? missing : ok(describe(simulation, quote));
};

const updateQuote: Handler = ({ simulation, params, body }) => {
  const quote = simulation.books.quotes.get(params[1] ?? '');
  const update = z.object({ targetAccount: z.number() }).safeParse(body);
  if (quote === undefined) return missing;
  const recipient = simulation.books.recipients.get(String(update.data?.targetAccount));
  if (recipient === undefined) return refuse(422, 'NOT_VALID', 'targetAccount');
  quote.targetAccount = recipient.id;
  return ok(describe(simulation, quote));
};

const readForms: Handler = ({ simulation, params, body }) => {
  const quote = simulation.books.quotes.get(params[0] ?? '');
  if (quote === undefined) return missing;
  const filled = z.record(z.string(), z.unknown()).safeParse(body);
  const form = simulation.forms.get(quote.targetCurrency);
  return ok(form === undefined ? [] : [describeForm(form, filled.data ?? {})]);
};

const createRecipient: Handler = ({ simulation, body }) => {
  const { books, profileId } = simulation;
  const asked = z.looseObject({ currency: z.string(), type: z.string() }).safeParse(body);
  if (!asked.success) return refuse(400, 'NOT_VALID', 'currency');
  const { currency, type } = asked.data;
  const faults = listFieldFaults(simulation.forms.get(currency), asked.data);
  if (faults.length > 0) {
    const errors = faults.map((fault) => ({ ...fault, arguments: [fault.path] }));
    return { status: 400, body: { timestamp: new Date().toISOString(), errors } };
  }
  const name = String(asked.data['accountHolderName']);
  const details = z.record(z.string(), z.unknown()).parse(asked.data['details']);
  const id = books.nextId();
  books.recipients.set(id, { id, currency, type, name, details });
  return ok({
    id: new JsonNumber(id),
    creatorId: 55,
    profileId: new JsonNumber(profileId),
    name: { fullName: name, givenName: null, familyName: null, middleName: null },
    currency,
    country: 'GB',
    type,
    legalEntityType: 'PERSON',
    active: true,
    details,
    isInternal: false,
    ownedByCustomer: false,
  });
};

/** Recipients of this name do not have the name of their account; those of the other have no account. */
const outcomes: Readonly<Record<string, object>> = {
  Mismatch: { type: 'NAME_MATCHING', outcome: 'PARTIAL_FAILURE', requiresCustomerAcceptance: true },
  Nobody: { type: 'ACCOUNT_EXISTENCE', outcome: 'FAILURE', requiresCustomerAcceptance: false },
};

const verify: Handler = ({ simulation, params: [account = '', quoteId = ''] }) => {
  const recipient = simulation.books.recipients.get(account);
  if (recipient === undefined || !simulation.books.quotes.has(quoteId)) return missing;
  const found = Object.keys(outcomes).find((name) => recipient.name.includes(name)) ?? '';
  const outcome = outcomes[found] ?? {
    type: 'NAME_MATCHING',
    outcome: 'SUCCESS',
    requiresCustomerAcceptance: false,
  };
  const confirmations = {
    acceptedOutcomes: false,
    acceptedAt: null,
    quoteId,
    outcomes: [{ ...outcome, fieldsChecked: ['name/fullName'], message: 'Checked with the bank' }],
  };
  return ok({ accountId: new JsonNumber(account), quoteId, confirmations });
};

const transferBody = z.object({
  targetAccount: z.number(),
  quoteUuid: z.guid(),
  customerTransactionId: z.guid(),
  details: z.record(z.string(), z.unknown()).default({}),
});

const createTransfer: Handler = ({ simulation, body }) => orderTransfer(simulation, body);

/** By itself, or in a batch group, which gets what is new. */
export function orderTransfer(simulation: Simulation, body: unknown, group?: BatchGroup): Answer {
  const { books, profileId } = simulation;
  const asked = transferBody.safeParse(body);
  if (!asked.success) return refuse(422, 'NOT_VALID');
  const { customerTransactionId: reference, quoteUuid, details } = asked.data;
  // A repeated request is answered with the transfer of the first one.
  const known = books.byReference.get(reference);
  if (known !== undefined) return ok(describeTransfer(known, profileId));
  const quote = books.quotes.get(quoteUuid);
  const recipient = books.recipients.get(String(asked.data.targetAccount));
  if (quote === undefined) return refuse(422, 'error.quote.not.found', 'quoteUuid');
  if (recipient === undefined) return refuse(422, 'error.account.not.found', 'targetAccount');
  if (quote.transferId !== undefined) return refuse(422, 'error.quote.already.used', 'quoteUuid');
  if (simulation.nowMs() > quote.createdAtMs + quoteMs) {
    return refuse(422, 'error.quote.expired', 'quoteUuid');
  }
  if (recipient.currency !== quote.targetCurrency) {
    return refuse(422, 'error.account.other.currency', 'targetAccount');
  }
  const id = books.nextId();
  quote.transferId = id;
  const transfer: Transfer = {
    id,
    reference,
    targetAccount: recipient.id,
    quote,
    details,
    createdAtMs: simulation.nowMs(),
    status: '',
    ...(group === undefined ? {} : { groupId: group.id }),
    wasStopped: false,
    fundings: 0,
    fundedAtMs: 0,
  };
  books.transfers.set(id, transfer);
  books.byReference.set(reference, transfer);
  group?.transfers.push(transfer);
  simulation.move(transfer, 'incoming_payment_waiting');
  return ok(describeTransfer(transfer, profileId));
}

const readTransfer: Handler = ({ simulation, params }) => {
  const transfer = simulation.books.transfers.get(params[0] ?? '');
  return transfer === undefined ? missing : ok(describeTransfer(transfer, simulation.profileId));
};

const listTransfers: Handler = ({ simulation, query }) => {
  const { books, profileId } = simulation;
  const statuses = query.get('status')?.split(',');
  const sinceMs = Date.parse(query.get('createdDateStart') ?? '1970-01-01T00:00:00Z');
  const offset = Number(query.get('offset') ?? 0);
  const found = [...books.transfers.values()]
    .filter(
      ({ createdAtMs, status }) => createdAtMs >= sinceMs && (statuses?.includes(status) ?? true),
    )
    .toReversed()
    .slice(offset, offset + Number(query.get('limit') ?? 100));
  return ok(found.map((transfer) => describeTransfer(transfer, profileId)));
};

const beforeConversion = ['incoming_payment_waiting', 'incoming_payment_initiated', 'processing'];

const cancelTransfer: Handler = ({ simulation, params }) => {
  const transfer = simulation.books.transfers.get(params[0] ?? '');
  if (transfer === undefined) return missing;
  if (!beforeConversion.includes(transfer.status)) {
    return refuse(409, 'transfer.cancellation.not.allowed');
  }
  transfer.wasStopped = true;
  simulation.move(transfer, 'cancelled');
  return ok(describeTransfer(transfer, simulation.profileId));
};

const fundTransfer: Handler = ({ simulation, params, body }) => {
  const { books } = simulation;
  const transfer = books.transfers.get(params[1] ?? '');
  const asked = z.object({ type: z.literal('BALANCE') }).safeParse(body);
  if (transfer === undefined) return missing;
  if (!asked.success) return refuse(422, 'NOT_VALID', 'type');
  const answer = (status: string, errorCode: string | null): Answer =>
    ok({ type: 'BALANCE', status, errorCode });
  if (transfer.status !== 'incoming_payment_waiting' || transfer.groupId !== undefined) {
    return answer('REJECTED', 'transfer.not.payable');
  }
  const { sourceCurrency, sourceMinor } = transfer.quote;
  const balance = books.balances.get(sourceCurrency) ?? 0n;
  if (balance < sourceMinor) return answer('REJECTED', 'transfer.insufficient_funds');
  books.balances.set(sourceCurrency, balance - sourceMinor);
  transfer.fundings += 1;
  transfer.fundedAtMs = simulation.nowMs();
  simulation.move(transfer, 'processing');
  return answer('COMPLETED', null);
};

const listPayments: Handler = ({ simulation, params }) => {
  const transfer = simulation.books.transfers.get(params[0] ?? '');
  if (transfer === undefined) return missing;
  const { quote, fundings, fundedAtMs } = transfer;
  const time = new Date(fundedAtMs).toISOString();
  const payment = {
    id: 50_000_000,
    method: 'BALANCE',
    pricingVariant: null,
    amount: toNumber(quote.sourceMinor, quote.sourceCurrency),
    currency: quote.sourceCurrency,
    timeCreated: time,
    timeUpdated: time,
  };
  return ok(Array.from({ length: fundings }, () => payment));
};

const estimate: Handler = ({ simulation, params }) =>
  simulation.books.transfers.has(params[0] ?? '')
    ? ok({
        estimatedDeliveryDate: new Date(simulation.nowMs() + 60_000).toISOString(),
        formattedEstimatedDeliveryDate: 'in a minute',
      })
    : missing;

const listBalances: Handler = ({ simulation }) =>
  ok(
    [...simulation.books.balances].map(([currency, minor], index) => {
      const money = { value: toNumber(minor, currency), currency };
      const time = '2026-01-05T09:00:00.000Z';
      return {
        id: 200_001 + index,
        currency,
        type: 'STANDARD',
        name: null,
        icon: null,
        investmentState: 'NOT_INVESTED',
        amount: money,
        reservedAmount: { value: 0, currency },
        cashAmount: money,
        totalWorth: money,
        creationTime: time,
        modificationTime: time,
        visible: true,
      };
    }),
  );

/** POST /v1/simulation/balance/topup. */
const topUp: Handler = ({ simulation, body }) => {
  const asked = z.object({ currency: z.string(), amount: z.number() }).safeParse(body);
  if (!asked.success) return refuse(422, 'NOT_VALID');
  const { currency, amount } = asked.data;
  const minor = (simulation.books.balances.get(currency) ?? 0n) + (toMinor(amount, currency) ?? 0n);
  simulation.books.balances.set(currency, minor);
  const balancesAfter = [{ id: 200_001, value: toNumber(minor, currency), currency }];
  return ok({ transactionId: 5, state: 'COMPLETED', balancesAfter });
};

/** The transitions of GET /v1/simulation/transfers/{transferId}/{status}. */
const simulated: Readonly<Record<string, readonly string[]>> = {
  processing: ['incoming_payment_waiting', 'processing'],
  funds_converted: ['processing'],
  outgoing_payment_sent: ['funds_converted'],
  bounced_back: ['outgoing_payment_sent'],
  funds_refunded: ['bounced_back', 'cancelled'],
};

const simulate: Handler = ({ simulation, params: [id = '', status = ''] }) => {
  const transfer = simulation.books.transfers.get(id);
  if (transfer === undefined) return missing;
  const isPermitted =
    simulated[status]?.includes(transfer.status) === true && transfer.fundings > 0;
  if (!isPermitted) return refuse(409, 'error.transition.not.allowed');
  if (transfer.status !== status) simulation.move(transfer, status);
  return ok(describeTransfer(transfer, simulation.profileId));
};

const subscriptionBody = z.object({
  name: z.string(),
  trigger_on: z.enum(triggers),
  delivery: z.object({ version: z.string(), url: z.url() }),
});

const describeSubscription = ({ id, name, url, trigger }: Subscription, profileId: string) => ({
  id,
  name,
  delivery: { version: '4.0.0', url },
  trigger_on: trigger,
  scope: { domain: 'profile', id: profileId },
  created_by: { type: 'user', id: '55' },
  created_at: '2026-01-05T09:00:00Z',
});

const subscribe: Handler = ({ simulation, body }) => {
  const asked = subscriptionBody.safeParse(body);
  if (!asked.success) return refuse(422, 'NOT_VALID');
  const { name, delivery, trigger_on: trigger } = asked.data;
  const subscription = { id: randomUUID(), name, url: delivery.url, trigger };
  simulation.subscriptions.set(subscription.id, subscription);
  return ok(describeSubscription(subscription, simulation.profileId));
};

const listSubscriptions: Handler = ({ simulation }) =>
  ok(
    [...simulation.subscriptions.values()].map((one) =>
      describeSubscription(one, simulation.profileId),
    ),
  );

const id = '([^/]+)';
const profile = `/profiles/${id}`;

/** Method and path, with the handler; the path of a profile is checked before. */
export const operations: readonly (readonly [string, RegExp, Handler])[] = [
  ['POST', `/v3${profile}/quotes`, createQuote],
  ['GET', `/v3${profile}/quotes/${id}`, readQuote],
  ['PATCH', `/v3${profile}/quotes/${id}`, updateQuote],
  ['GET', `/v1/quotes/${id}/account-requirements`, readForms],
  ['POST', `/v1/quotes/${id}/account-requirements`, readForms],
  ['POST', '/v1/accounts', createRecipient],
  ['POST', `/v2/accounts/${id}/quotes/${id}/compatibility`, verify],
  ['POST', '/v1/transfer-requirements', () => ok(transferForm)],
  ['POST', '/v1/transfers', createTransfer],
  ['GET', '/v1/transfers', listTransfers],
  ['GET', `/v1/transfers/${id}`, readTransfer],
  ['PUT', `/v1/transfers/${id}/cancel`, cancelTransfer],
  ['POST', `/v3${profile}/transfers/${id}/payments`, fundTransfer],
  ['GET', `/v1/transfers/${id}/payments`, listPayments],
  ['GET', `/v1/delivery-estimates/${id}`, estimate],
  ['GET', `/v4${profile}/balances`, listBalances],
  ['POST', '/v1/simulation/balance/topup', topUp],
  ['GET', `/v1/simulation/transfers/${id}/${id}`, simulate],
  ['POST', `/v3${profile}/subscriptions`, subscribe],
  ['GET', `/v3${profile}/subscriptions`, listSubscriptions],
].map(([method, path, handler]) => [
  method as string,
  new RegExp(`^${path as string}$`),
  handler as Handler,
]);
