import { findCurrency } from '../../core/currency.ts';
import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
  RailModule,
} from '../contract/contract.ts';
import type { RailCall } from '../kit/guarded-calls.ts';
import { createCallbackReader } from './callbacks.ts';
import {
  configSchema,
  type FspiopConfig,
  listExclusives,
  readSettings,
  type Settings,
} from './config.ts';
import { refuse } from './decisions.ts';
import { createStep, type Parts, planRetry, sendLookup } from './flow.ts';
import { createHubClient } from './hub-client.ts';
import { listWantedWords } from './names.ts';
import { createPass } from './pass.ts';
import {
  isSame,
  nameTransfer,
  type Payment,
  type PaymentUpdate,
  readMsisdn,
  type State,
  type StoredPayment,
} from './payment.ts';
import { createWalletNames, openPaymentRecords } from './payment-records.ts';

/** Mobile money through a hub with Mojaloop's FSPIOP API 1.1; the rail is the payer's provider. */
export const railModule: RailModule<FspiopConfig> = {
  kind: 'fspiop',
  about: 'Mobile wallets of the providers in a Mojaloop scheme, by the FSPIOP API 1.1.',
  corridors: [{ countries: 'any', deliveryType: 'MOBILE_WALLET', currencies: 'any' }],
  reference: {
    lengthMax: 36,
    charset: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  },
  pace: { concurrencyMax: 16, perSecondMax: null },
  configSchema,
  listExclusives,
  create: createFspiopRail,
};

type RailParts = Parts & { nameWallet(msisdn: string): Promise<string> };

/** Decimals of an amount that the API allows. */
const scaleMax = 4;

async function createFspiopRail(config: FspiopConfig, host: RailHost): Promise<RailCalls> {
  const settings = readSettings(config);
  checkPayers(host, settings);
  const parts: RailParts = {
    settings,
    host,
    records: openPaymentRecords(host),
    client: createHubClient(settings, host),
    nameWallet: createWalletNames(host.store),
  };
  const step = createStep(parts);
  return {
    send: (instruction, context) => send(parts, instruction, context),
    query: (instruction, context) => query(parts, instruction, (stored) => step(stored, context)),
    cancel: (instruction) => cancel(parts, instruction),
    readCallback: createCallbackReader(parts),
    work: createPass(parts, step),
    workIdleMs: 1_000,
    check: (context) => check(parts, context),
  };
}

/** @throws Error where FSPIOP cannot carry a payer's currency, or its provider has no key. */
function checkPayers({ payers }: RailHost, { publicKeys }: Settings): void {
  for (const { key, currencies, options } of payers) {
    const { fspId } = options;
    if (fspId !== undefined && !publicKeys.has(fspId)) {
      throw new Error(
        `payer ${key}: config.publicKeys must contain the key of its provider ${fspId}`,
      );
    }
    for (const code of currencies) {
      const currency = findCurrency(code);
      if (currency === undefined || currency.isCrypto || currency.scale > scaleMax) {
        throw new Error(`payer ${key}: FSPIOP cannot carry amounts in ${code}`);
      }
    }
  }
}

/** Whether the hub answers at all; any answer will do. */
async function check({ settings, host }: RailParts, { signal }: CallContext): Promise<string[]> {
  try {
    const timeout = AbortSignal.timeout(settings.callMs);
    const response = await host.fetch(settings.hubUrl, {
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
    });
    await response.body?.cancel();
    return [];
  } catch {
    return [`the hub at ${settings.hubUrl} cannot be reached`];
  }
}

const send: RailCall<RailParts> = async (parts, instruction, context) => {
  const { records } = parts;
  const stored = await records.find(instruction.reference);
  const isDue =
    stored === undefined || (stored.state === 'idle' && isSame(stored.value, instruction));
  if (isDue) {
    const payment = await plan(parts, instruction);
    const { reference } = instruction;
    const seen = stored ?? { key: nameTransfer(reference), revision: 0, reference };
    // A refusal is stored as well, since it must stay.
    const next: PaymentUpdate =
      payment === undefined
        ? refuse(makePayment(instruction, parts.host.nowMs()), 'invalid_details', '')
        : { state: 'asking', value: payment };
    if ((await records.write(seen, next)) && payment !== undefined) {
      await begin(parts, payment, context);
    }
  }
  return (await records.answer(instruction)) ?? { outcome: 'unknown', reason: 'no_answer' };
};

async function begin(parts: RailParts, payment: Payment, context: CallContext): Promise<void> {
  const { settings, host, records } = parts;
  const result = await sendLookup(parts, payment, context);
  const code = result.kind === 'refused' ? result.code : '';
  const againAtMs = planRetry(settings, 1, host.nowMs());
  await records.update(
    payment.reference,
    (stored) =>
      stored &&
      (result.kind === 'accepted' ? startLookup(stored, againAtMs) : stayIdle(stored, code)),
  );
}

/** Undefined where the wallet or the amount is invalid. */
async function plan(parts: RailParts, instruction: Instruction): Promise<Payment | undefined> {
  const { settings, host, nameWallet } = parts;
  const { currency, amountMinor, beneficiary, originator } = instruction;
  const msisdn = readMsisdn(instruction);
  if (msisdn === undefined || amountMinor <= 0n || findCurrency(currency) === undefined) {
    return undefined;
  }
  const payment = makePayment(instruction, host.nowMs());
  return {
    ...payment,
    msisdn,
    wantedWords: [...listWantedWords(beneficiary, settings.nameCheck)],
    originatorName: originator.name,
    againAtMs: payment.startedAtMs + settings.callMs + settings.againMs,
    lookupKey: `${await nameWallet(msisdn)}.${payment.transferId}`,
  };
}

/** Without personal data. */
function makePayment(instruction: Instruction, nowMs: number): Payment {
  const { reference, payerKey, currency, amountMinor } = instruction;
  return {
    reference,
    transferId: nameTransfer(reference),
    payerKey,
    currency,
    amountMinor,
    msisdn: '',
    wantedWords: [],
    originatorName: '',
    payeeFsp: '',
    startedAtMs: nowMs,
    againAtMs: nowMs,
    calls: 1,
    lookupKey: '',
    quotes: 0,
    quoteId: '',
    quoteRequest: null,
    terms: null,
    transferRequest: null,
    expiresAtMs: 0,
    posts: 0,
    asks: 0,
    isTaken: false,
    isAbsent: false,
    isAbsentForGood: false,
    isContradicted: false,
    reason: null,
    code: '',
  };
}

/** The hub accepted the look-up; it is repeated where no callback comes. */
function startLookup(
  { state, value }: StoredPayment,
  againAtMs: number,
): PaymentUpdate | undefined {
  return state === 'asking' ? { state: 'lookup', value: { ...value, againAtMs } } : undefined;
}

/**
 * The hub could not be asked: the payment waits until the service sends it again. Only before it was
 * reported as accepted.
 */
function stayIdle({ state, value }: StoredPayment, code: string): PaymentUpdate | undefined {
  if (state !== 'asking') return undefined;
  const reason = code === '' ? 'unreachable' : 'payer_refused';
  return { state: 'idle', value: { ...value, reason, code } };
}

/** After `againAtMs` the process that asked the hub must have ended without recording the answer. */
function abandonLookup(stored: StoredPayment, nowMs: number): PaymentUpdate | undefined {
  return nowMs < stored.value.againAtMs ? undefined : stayIdle(stored, '');
}

async function query(
  { records, host }: RailParts,
  instruction: Instruction,
  resume: (stored: StoredPayment) => Promise<void>,
): Promise<RailAnswer> {
  const { reference } = instruction;
  const stored = await records.find(reference);
  if (stored?.state === 'transfer') await resume(stored);
  if (stored?.state === 'asking') {
    await records.update(reference, (seen) => seen && abandonLookup(seen, host.nowMs()));
  }
  // A payment is recorded before its first request, so without a record nothing was sent.
  return (await records.answer(instruction)) ?? { outcome: 'retry', reason: 'unreachable' };
}

const cancellableStates: ReadonlySet<State> = new Set([
  'asking',
  'idle',
  'lookup',
  'quote_due',
  'quote',
  'transfer_due',
]);

/** Nothing is paid before the transfer is recorded, and never after the payment was refused. */
function cancel({ records, host }: RailParts, instruction: Instruction): Promise<RailAnswer> {
  const end = (payment: Payment): PaymentUpdate => refuse(payment, 'cancelled', 'cancelled');
  return records.cancel(instruction, {
    tombstone: end(makePayment(instruction, host.nowMs())),
    withdraw: ({ state, value }) => (cancellableStates.has(state) ? end(value) : undefined),
  });
}
