import { findCurrency } from '../../core/currency.ts';
import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
  RailModule,
} from '../contract/contract.ts';
import { createCallbackReader } from './callbacks.ts';
import { configSchema, type FspiopConfig, readSettings, type Settings } from './config.ts';
import { refuse } from './decisions.ts';
import { createStep, type Parts, planAgain, sendLookup } from './flow.ts';
import { createHubClient } from './hub-client.ts';
import { listWantedWords } from './names.ts';
import { createPass } from './pass.ts';
import { describeAnswer, isSame, nameTransfer, type Payment, readMsisdn } from './payment.ts';
import {
  createPaymentRecords,
  createWalletNames,
  type Held,
  type Next,
} from './payment-records.ts';

/** Mobile money through a hub that speaks Mojaloop's FSPIOP API 1.1; we are the payer's provider. */
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
  create: createFspiopRail,
};

type RailParts = Parts & { nameWallet(msisdn: string): Promise<string> };

/** More digits after the point than the API has for an amount. */
const scaleMax = 4;

async function createFspiopRail(config: FspiopConfig, host: RailHost): Promise<RailCalls> {
  const settings = readSettings(config);
  checkPayers(host, settings);
  const parts: RailParts = {
    settings,
    host,
    records: createPaymentRecords(host.store),
    client: createHubClient(settings, host),
    nameWallet: createWalletNames(host.store),
  };
  const step = createStep(parts);
  return {
    send: (instruction, context) => send(parts, instruction, context),
    query: async (instruction, context) => {
      const held = await parts.records.find(nameTransfer(instruction.reference));
      // There is no record, and a record is written before the first byte leaves.
      if (held === undefined) return { outcome: 'retry', reason: 'unreachable' };
      if (held.state === 'transfer') await step(held, context);
      if (held.state === 'asking') {
        await parts.records.change(held.payment.transferId, (seen) => giveUp(seen, host.nowMs()));
      }
      return answer(parts, instruction, held);
    },
    cancel: (instruction) => cancel(parts, instruction),
    readCallback: createCallbackReader(parts),
    work: createPass(parts, step),
    workIdleMs: 1_000,
    check: (context) => check(parts, context),
  };
}

/** @throws Error where a payer's currency cannot be written, or its provider not be believed. */
function checkPayers({ payers }: RailHost, { publicKeys }: Settings): void {
  for (const { key, currencies, options } of payers) {
    const { fspId } = options;
    if (fspId !== undefined && !publicKeys.has(fspId)) {
      throw new Error(`payer ${key}: config.publicKeys has no key of its provider ${fspId}`);
    }
    for (const code of currencies) {
      const currency = findCurrency(code);
      if (currency === undefined || currency.isCrypto || currency.scale > scaleMax) {
        throw new Error(`payer ${key}: FSPIOP has no amounts in ${code}`);
      }
    }
  }
}

/** Whether anybody is there: what a hub answers to a question about nothing does not matter. */
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

async function send(
  parts: RailParts,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
  const { records } = parts;
  const transferId = nameTransfer(instruction.reference);
  const held = await records.find(transferId);
  if (held !== undefined && held.state !== 'idle') return answer(parts, instruction, held);
  const payment = await plan(parts, instruction);
  if (payment === undefined) return { outcome: 'rejected', reason: 'invalid_details' };
  if (held !== undefined && !isSame(held.payment, instruction)) {
    return answer(parts, instruction, held);
  }
  const seen: Held = held ?? { state: 'idle', payment, revision: 0 };
  if (!(await records.write(seen, { state: 'asking', payment }))) {
    return answer(parts, instruction, seen);
  }
  const result = await sendLookup(parts, payment, context);
  const code = result.kind === 'refused' ? result.code : '';
  const againAtMs = planAgain(parts.settings, 1, parts.host.nowMs());
  await records.change(transferId, (current) =>
    result.kind === 'taken' ? goOn(current, againAtMs) : rest(current, code),
  );
  return answer(parts, instruction, seen);
}

/** Undefined where there is no wallet, or nothing to pay. */
async function plan(parts: RailParts, instruction: Instruction): Promise<Payment | undefined> {
  const { settings, host, nameWallet } = parts;
  const { reference, payerKey, currency, amountMinor, beneficiary, originator } = instruction;
  const msisdn = readMsisdn(instruction);
  if (msisdn === undefined || amountMinor <= 0n || findCurrency(currency) === undefined) {
    return undefined;
  }
  const nowMs = host.nowMs();
  const transferId = nameTransfer(reference);
  return {
    reference,
    transferId,
    payerKey,
    currency,
    amountMinor: amountMinor.toString(),
    msisdn,
    wantedWords: listWantedWords(beneficiary, settings.nameCheck),
    originatorName: originator.name,
    payeeFsp: '',
    startedAtMs: nowMs,
    againAtMs: nowMs + settings.callMs + settings.againMs,
    calls: 1,
    lookupKey: `${await nameWallet(msisdn)}.${transferId}`,
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

/** From here on the payment is under way: its question is asked again where nobody answers. */
function goOn({ state, payment }: Held, againAtMs: number): Next | undefined {
  return state === 'asking' ? { state: 'lookup', payment: { ...payment, againAtMs } } : undefined;
}

/**
 * The hub could not be asked: the payment rests until the service sends it again. That holds only
 * as long as nobody was told that it is under way.
 */
function rest({ state, payment }: Held, code: string): Next | undefined {
  if (state !== 'asking') return undefined;
  const reason = code === '' ? 'unreachable' : 'payer_refused';
  return { state: 'idle', payment: { ...payment, reason, code } };
}

/** Whoever asked has had the time to write down what came of it. */
function giveUp(held: Held, nowMs: number): Next | undefined {
  return nowMs < held.payment.againAtMs ? undefined : rest(held, '');
}

/** By what is written now, which may be more than what was seen. */
async function answer(
  { records, host }: RailParts,
  instruction: Instruction,
  seen: Held,
): Promise<RailAnswer> {
  const { state, payment } = (await records.find(seen.payment.transferId)) ?? seen;
  if (!isSame(payment, instruction)) {
    const { transferId } = payment;
    host.log('error', 'a reference was used for another payment', { transferId });
    return { outcome: 'unknown', reason: 'duplicate', providerReference: transferId };
  }
  return describeAnswer(state, payment, host);
}

/** Nothing is paid before the transfer is written down, and never after it was refused. */
async function cancel(parts: RailParts, instruction: Instruction): Promise<RailAnswer> {
  const { records } = parts;
  const transferId = nameTransfer(instruction.reference);
  const payment = await plan(parts, instruction);
  if (payment !== undefined) {
    const seen: Held = { state: 'idle', payment, revision: 0 };
    const ended = refuse({ ...payment, lookupKey: '' }, 'cancelled', 'cancelled');
    // Where there was nothing, this keeps a send that comes later from beginning.
    if (await records.write(seen, ended)) return answer(parts, instruction, { ...seen, ...ended });
  }
  const changed = await records.change(transferId, ({ state, payment: current }) =>
    ['asking', 'idle', 'lookup', 'quote_due', 'quote', 'transfer_due'].includes(state)
      ? refuse(current, 'cancelled', 'cancelled')
      : undefined,
  );
  if (changed === undefined) return { outcome: 'rejected', reason: 'cancelled' };
  return answer(parts, instruction, changed.held);
}
