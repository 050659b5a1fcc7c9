import { listCurrencies } from '../../core/currency.ts';
import { createSemaphore } from '../../core/semaphore.ts';
import type { CallContext, RailCalls, RailHost, RailModule } from '../contract/contract.ts';
import { deliveryTypes } from '../contract/declarations.ts';
import { guardCall } from '../kit/guarded-calls.ts';
import { noteListReading } from '../kit/list-readings.ts';
import { checkPayee } from './account-check.ts';
import { announce, queryAnnounced, readAnnouncement } from './announcements.ts';
import type { OrderedMoney } from './answers.ts';
import { readFunds } from './balances.ts';
import { announceEntry, type EventPage, readCallback, readEvents } from './callbacks.ts';
import { checkCapabilities } from './capabilities.ts';
import type { Capability } from './capability-protocol.ts';
import { createCertificateFetch } from './client-certificate.ts';
import { batchSettingsSchema, configSchema, listExclusives, type PartnerConfig } from './config.ts';
import { createExchange, type Exchange } from './exchange.ts';
import { createLightExchange } from './light-exchange.ts';
import { createOrderBatches } from './order-batches.ts';
import { ask, cancel, query, queryPayment, type Setup, send } from './payments.ts';
import { readPrices } from './prices.ts';
import { eventPageSchema, healthSchema } from './protocol.ts';
import { findUnknownPayments, recoverPayments } from './recovery.ts';
import { listMissingFields, listPayerFaults } from './required-fields.ts';
import { createSigningKey, createVerifyingKeys } from './signatures.ts';

/**
 * Payments by the partner protocol (README.md, docs/partner-openapi.yaml): for a cash network, a
 * card programme or another partner whose field has no standard.
 */

/** Between two passes over a list of events that is longer than one pass reads. */
const morePagesMs = 100;
/** Until a payment is queried again whose announced state no query has stated yet. */
const askAgainMs = 5000;
/** As many payouts as are usually in progress at once. */
const callsMax = 16;
/** Background work, and account checks for which clients wait. */
const otherRequestsMax = 4;

const cryptocurrencies = listCurrencies()
  .filter(({ isCrypto }) => isCrypto)
  .map(({ code }) => code);

export const railModule: RailModule<PartnerConfig> = {
  kind: 'partner',
  about: 'Any partner that speaks a small HTTP protocol: cash networks, cards, others.',
  corridors: deliveryTypes.map((deliveryType) => ({
    countries: 'any',
    deliveryType,
    currencies: deliveryType === 'CRYPTOCURRENCY' ? cryptocurrencies : 'any',
  })),
  reference: { lengthMax: 64, charset: /^[0-9A-Za-z_-]+$/ },
  pace: { concurrencyMax: callsMax, perSecondMax: null },
  configSchema,
  listExclusives,
  create: async (config, host) => createPartnerRail(config, host),
};

function createPartnerRail(config: PartnerConfig, host: RailHost): RailCalls {
  const { exchange, close } = openExchange(config, host);
  const setup: Setup = {
    config,
    host,
    realNowMs: host.realNowMs,
    ...openSending(config, host, exchange),
    order: {
      payerCodes: readPayerCodes(host),
      callbackUrl: host.callbackUrl,
      capabilities: config.capabilities,
      purposeCodes: config.purposeCodes,
    },
    light: config.light,
  };
  const { payerCodes } = setup.order;
  const required = { requirements: config.requiredFields, payerCodes };
  if (host.listAttributes !== undefined) {
    const faults = listPayerFaults(required, host.payers, host.listAttributes);
    if (faults.length > 0) throw new Error(faults.join('; '));
  }
  const partnerKeys = createVerifyingKeys(config.partnerKeys ?? []);
  const { light } = config;
  return {
    send: guardCall(setup, send),
    query: guardCall(setup, query),
    cancel: guardCall(setup, cancel),
    checkRecipient: (draft) => listMissingFields(required, draft),
    ...createOptionalCalls(setup),
    readCallback: (message) =>
      light === undefined
        ? readCallback(message, { host, partnerKeys, realNowMs: host.realNowMs })
        : readAnnouncement(message, { host, light }),
    work: (context) => work(setup, context),
    workIdleMs: config.eventsSeconds * 1000,
    check: (context) => check(setup, context),
    recover: async (_sinceMs, context) => {
      if (!config.capabilities.includes('booked_events')) {
        host.log('warn', 'the partner does not list orders that it has booked and not paid yet');
      }
      return await recoverPayments(host, (after) => fetchEvents(setup, after, context));
    },
    findUnknownPayments: (context) =>
      findUnknownPayments(host, (after) => fetchEvents(setup, after, context)),
    close: async () => close(),
  };
}

/**
 * With batches, the requests of payments share a limit, so that many payouts in progress are not many
 * requests. Others, for which clients wait or which run alone, do not wait behind them.
 */
function openSending(
  config: PartnerConfig,
  host: RailHost,
  exchange: Exchange,
): Pick<Setup, 'exchange' | 'sending' | 'batches'> {
  const { store, realNowMs, log } = host;
  const parts = { store, exchange, realNowMs, orderSeconds: config.orderSeconds };
  if (!config.capabilities.includes('batches')) {
    return { exchange, sending: parts, batches: undefined };
  }
  const { requestsMax, ...limits } = config.batches ?? batchSettingsSchema.parse({});
  const slots = createSemaphore(requestsMax);
  const limited: Exchange = (request) => slots.run(() => exchange(request));
  return {
    exchange,
    sending: { ...parts, exchange: limited },
    batches: createOrderBatches({ ...parts, slots, limits, log }),
  };
}

/** The calls of capabilities that the operator has configured. */
function createOptionalCalls(setup: Setup): Partial<RailCalls> {
  const { capabilities } = setup.config;
  const has = (capability: Capability): boolean => capabilities.includes(capability);
  return {
    usesSender: has('sender'),
    ...(has('account_check') && {
      checkPayee: (draft, context) => checkPayee(setup, draft, context),
    }),
    ...(has('balances') && { readFunds: (context) => readFunds(setup, context) }),
    ...(has('prices') && { readPrices: (context) => readPrices(setup, context) }),
  };
}

function openExchange(
  config: PartnerConfig,
  host: RailHost,
): { readonly exchange: Exchange; close(): void } {
  const { baseUrl, signingKey, partnerKeys = [], light } = config;
  const common = { baseUrl, timeoutMs: config.timeoutSeconds * 1000, realNowMs: host.realNowMs };
  if (light?.authentication.kind === 'tls') {
    const connectionsMax = Math.max(callsMax, config.batches?.requestsMax ?? 0) + otherRequestsMax;
    const client = createCertificateFetch(light.authentication, connectionsMax);
    const options = { ...common, fetch: client.fetch, key: undefined };
    return { exchange: createLightExchange(options), close: client.close };
  }
  const close = (): void => undefined;
  if (light !== undefined) {
    const options = { ...common, fetch: host.fetch, key: light.authentication.key };
    return { exchange: createLightExchange(options), close };
  }
  if (signingKey === undefined) throw new Error('unreachable: the schema requires a key');
  const exchange = createExchange({
    ...common,
    signingKey: createSigningKey(signingKey),
    partnerKeys: createVerifyingKeys(partnerKeys),
    fetch: host.fetch,
  });
  return { exchange, close };
}

async function work(setup: Setup, context: CallContext): Promise<number | undefined> {
  const { host, light } = setup;
  const fetchPage = (after: string) => fetchEvents(setup, after, context);
  const reading =
    light === undefined
      ? await readEvents(host, fetchPage)
      : await readEvents(host, fetchPage, (to, entry) => announceEntry(to, entry, announce));
  const hasMore = reading === 'more';
  if (!hasMore) {
    const list = { name: 'events', what: "the partner's list of events" } as const;
    await noteListReading(host, { ...list, isRead: reading === 'read' });
  }
  if (light === undefined) return hasMore ? host.nowMs() + morePagesMs : undefined;
  const queryOne = (money: OrderedMoney) => queryPayment(setup, { money }, context);
  const isLeft = await queryAnnounced({ host, light }, queryOne, context);
  if (hasMore) return host.nowMs() + morePagesMs;
  return isLeft ? host.nowMs() + askAgainMs : undefined;
}

function readPayerCodes(host: RailHost): ReadonlyMap<string, string> {
  return new Map(host.payers.map(({ key, options }) => [key, options['code'] ?? key]));
}

/** Undefined where the partner gives no definite answer; the next pass requests it again. */
async function fetchEvents(
  setup: Setup,
  after: string,
  context: CallContext,
): Promise<EventPage | undefined> {
  const result = await ask(setup, context, { method: 'GET', path: `/events/${after}`, body: '' });
  if (result.kind === 'answered' && result.status === 200) {
    const page = eventPageSchema.safeParse(result.json);
    if (page.success) return page.data as EventPage;
  }
  const detail = result.kind === 'answered' ? `status ${result.status}` : result.kind;
  setup.host.log('warn', "the partner's list of events cannot be read", { detail });
  return undefined;
}

const clockFaultS = 30;

async function check(setup: Setup, context: CallContext): Promise<readonly string[]> {
  const result = await ask(setup, context, { method: 'GET', path: '/health', body: '' });
  if (result.kind === 'not_sent')
    return ['the partner cannot be reached: check baseUrl and the network'];
  if (result.kind === 'unclear') return [result.detail];
  const health = healthSchema.safeParse(result.json);
  if (result.status !== 200 || !health.success) {
    return [`the partner answers ${result.status} to GET /health`];
  }
  const faults: string[] = [];
  if (health.data.status !== 'ok') faults.push('the partner reports that it is not working');
  const apartS = Math.round(Math.abs(setup.realNowMs() / 1000 - result.createdS));
  if (apartS > clockFaultS) faults.push(`the partner's clock differs from ours by ${apartS} s`);
  return [...faults, ...(await checkCapabilities(setup, context))];
}
