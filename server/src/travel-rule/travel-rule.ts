import { getCurrency } from '../core/currency.ts';
import { formatAmount } from '../core/money.ts';
import { openBytes, rowContext, sealBytes } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { findUsdWorth } from '../fx/usd-worth.ts';
import type { Instruction, Rail, RailAnswer, RecipientDraft } from '../rails/contract/contract.ts';
import { buildIvms101 } from './ivms101.ts';
import { findAccepted, storeMessage } from './messages.sql.ts';
import type { TravelRuleProvider } from './provider.ts';
import { listLacking, selectRules, type TravelRule } from './rules.ts';
import { findSender } from './sender.ts';

export { findMessage, type TravelRuleMessageRow } from './messages.sql.ts';

/**
 * The travel rule: a payout is committed only with the data of sender and recipient that a rule asks
 * for, and where the rule says so it is sent only after the provider has accepted them.
 */

export type TravelRuleServices = {
  readonly rules: readonly TravelRule[];
  readonly provider: TravelRuleProvider | undefined;
  rates(): MidRates;
  readonly session: Session;
  readonly onError: (error: unknown) => void;
};

/** A payout that is about to be sent. */
export type SendingPayout = {
  readonly accountId: string;
  readonly payoutId: string;
  readonly userId: string;
  readonly userKey: Buffer;
};

export type TravelRules = {
  /** The rail with a check of recipients that asks for what the rules need too. */
  guard(rail: Rail): Rail;
  /** The instruction with what is known of the sender, or why nothing is sent now. */
  prepare(rail: Rail, instruction: Instruction, payout: SendingPayout): Promise<Prepared>;
};

export type Prepared = { instruction: Instruction } | { answer: RailAnswer };

/** How long after `pending` the provider is asked again. */
const pendingCheckMs = 60_000;

export function createTravelRules(
  services: TravelRuleServices & { nowMs: () => number },
): TravelRules {
  const { rules } = services;
  return {
    guard: (rail) => {
      if (rules.length === 0) return rail;
      return {
        ...rail,
        checkRecipient: (draft) => {
          const own = rail.checkRecipient?.(draft) ?? [];
          const { sender, beneficiary } = draft;
          const applying = selectApplying(services, draft);
          const named = new Set(own.map(({ field }) => field));
          const lacking = listLacking(applying, { sender, beneficiary });
          return [...own, ...lacking.filter(({ field }) => !named.has(field))];
        },
      };
    },
    prepare: async (rail, given, payout) => {
      const applying = selectApplying(services, given);
      if (applying.length === 0 && rail.usesSender !== true) return { instruction: given };
      const sender = await findSender(services.session, payout.accountId);
      const instruction =
        sender === undefined ? given : { ...given, originator: { ...given.originator, sender } };
      const { beneficiary } = instruction;
      // The recipient or the sender has changed since the commit, or the value has risen.
      if (listLacking(applying, { sender, beneficiary }).length > 0) {
        return { answer: { outcome: 'retry', reason: 'travel_rule_incomplete' } };
      }
      const toPassOn = applying.filter(({ passOn }) => passOn);
      if (toPassOn.length === 0 || sender === undefined) return { instruction };
      const answer = await passMessage(services, { rail, instruction, payout, rules: toPassOn });
      return answer === undefined ? { instruction } : { answer };
    },
  };
}

function selectApplying(
  { rules, rates }: TravelRuleServices,
  transfer: Pick<RecipientDraft, 'countryCode' | 'deliveryType' | 'currency' | 'amountMinor'>,
): TravelRule[] {
  if (rules.length === 0) return [];
  const { countryCode, deliveryType, currency, amountMinor: minor } = transfer;
  const usdMinor = findUsdWorth(rates(), { currency, minor });
  return selectRules(rules, { countryCode, deliveryType, usdMinor });
}

type Passing = {
  rail: Rail;
  instruction: Instruction;
  payout: SendingPayout;
  rules: readonly TravelRule[];
};

/** Undefined: accepted. What was accepted is not asked again, as long as the same would be passed on. */
async function passMessage(
  services: TravelRuleServices & { nowMs: () => number },
  { rail, instruction, payout, rules }: Passing,
): Promise<RailAnswer | undefined> {
  const { session, provider, onError, nowMs } = services;
  const { sender } = instruction.originator;
  if (sender === undefined) return { outcome: 'retry', reason: 'travel_rule_pending' };
  const ivms101 = buildIvms101(instruction, sender);
  const names = rules.map(({ name }) => name);
  const text = JSON.stringify(ivms101);
  if (await isAccepted(session, payout, { names, text })) return undefined;
  if (provider === undefined) return { outcome: 'retry', reason: 'travel_rule_pending' };
  const { currency, amountMinor, deliveryType } = instruction;
  try {
    const { state, reference } = await provider.passOn({
      id: payout.payoutId,
      deliveryType,
      currency,
      amount: formatAmount(amountMinor, getCurrency(currency)),
      network: rail.networks?.[currency] ?? '',
      rules: names,
      ivms101,
    });
    const context = messageContext(payout);
    const sealed = sealBytes(payout.userKey, Buffer.from(text), context);
    const { accountId, payoutId, userId } = payout;
    const stored = { accountId, payoutId, userId, rules: names, provider: provider.name };
    await storeMessage(session, { ...stored, sealed, state, reference });
    if (state === 'accepted') return undefined;
    if (state === 'refused') return { outcome: 'rejected', reason: 'compliance' };
  } catch (error) {
    onError(error);
  }
  const checkAtMs = nowMs() + pendingCheckMs;
  return { outcome: 'retry', reason: 'travel_rule_pending', checkAtMs };
}

/** Data and rules may have changed since the provider accepted, while the payout waited for its rail. */
async function isAccepted(
  session: Session,
  payout: SendingPayout,
  { names, text }: { names: readonly string[]; text: string },
): Promise<boolean> {
  const known = await findAccepted(session, payout);
  if (known === undefined || !names.every((name) => known.rules.includes(name))) return false;
  const accepted = openBytes(payout.userKey, known.message, messageContext(payout));
  return accepted.toString() === text;
}

function messageContext({
  accountId,
  payoutId,
}: Pick<SendingPayout, 'accountId' | 'payoutId'>): string {
  return rowContext('travel_rule_messages.message', accountId, payoutId);
}
