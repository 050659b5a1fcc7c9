import { checkValues } from '../attributes/checks.ts';
import { type AttributeType, getProfile, makeCorridor } from '../attributes/requirements.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import type { Payer } from '../destinations/catalog.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import { draftRecipient, findRecipientOfCommitted } from '../payouts/recipient-check.ts';
import type { Rail, RecipientDraft, RecipientFault } from '../rails/contract/contract.ts';

/**
 * Why a payer could not pay the recipient of a payout with the details that the payout was committed with.
 * They were checked for the payer that the client named; another one of the same country may ask for more.
 */

/** A payout, and where to read it: a dry run exists in its own transaction only. */
export type StoredPayout = PayoutName & { session: Session };

export type Objection = { rule: 'details_missing' | 'recipient_refused'; detail: string };

/** Undefined: it can pay the recipient. */
export type FindObjection = (payer: Payer) => Objection | undefined;

/** The payer that the client named, those that may take over from it, and what they would pay. */
export type Takeover = {
  named: Payer;
  others: readonly Payer[];
  currency: string;
  amountMinor: bigint;
};

export type ObjectionServices = {
  keys: KeyRing;
  railOf: (name: string) => Rail | undefined;
  nowMs: () => number;
};

const none: FindObjection = () => undefined;

/** Reads nothing where all payers ask for the same, as those of one network usually do. */
export async function readObjections(
  services: ObjectionServices,
  { session, accountId, payoutId }: StoredPayout,
  takeover: Takeover,
): Promise<FindObjection> {
  const { named, others, currency, amountMinor } = takeover;
  const known = profileOf(named, currency);
  const differs = (payer: Payer): boolean =>
    profileOf(payer, currency) !== known ||
    services.railOf(payer.railName)?.checkRecipient !== undefined;
  if (!others.some(differs)) return none;
  const row = await findRecipientOfCommitted(session, { accountId, payoutId });
  if (row === undefined) return none;
  return (payer) => {
    if (payer === named || !differs(payer)) return undefined;
    const draft = draftRecipient(services.keys, row, { payer, currency, amountMinor });
    // Nothing is stored for this payout later.
    const { attributes = {} } = draft;
    const isSame = profileOf(payer, currency) === known;
    const faults = isSame ? [] : listProfileFaults(payer, { currency, attributes }, services);
    const own = services.railOf(payer.railName)?.checkRecipient?.({ ...draft, attributes }) ?? [];
    // A rail that judges the account as a whole may name another attribute than the one that is missing.
    const isJudged = ({ field }: Fault): boolean => faults.length > 0 && field in attributes;
    return describeObjection([...faults, ...own.filter((fault) => !isJudged(fault))]);
  };
}

const profileOf = (payer: Payer, currency: string) => getProfile(makeCorridor(payer, currency));

type Fault = Pick<RecipientFault, 'field' | 'code' | 'detail'>;

/** By what the payer shows clients. What only another payer asks for is of no interest to it. */
function listProfileFaults(
  payer: Payer,
  { currency, attributes = {} }: Pick<RecipientDraft, 'currency' | 'attributes'>,
  { nowMs }: ObjectionServices,
): Fault[] {
  const corridor = makeCorridor(payer, currency);
  const profile = getProfile(corridor);
  const types = new Set<string>(profile.requirements.map(({ type }) => type));
  const values = new Map(
    Object.entries(attributes).filter(([type]) => types.has(type)) as [AttributeType, string][],
  );
  const today = new Date(nowMs()).toISOString().slice(0, 10);
  const { missing, faults } = checkValues(profile, corridor, { values, today });
  return [
    ...missing.map((field): Fault => ({ field, code: 'missing', detail: '' })),
    ...faults.map(({ type, detail }): Fault => ({ field: type, code: 'invalid', detail })),
  ];
}

/** Details that could be given explain more than a payer that serves no such recipient. */
function describeObjection(faults: readonly Fault[]): Objection | undefined {
  const fieldsOf = (code: Fault['code']): string[] => [
    ...new Set(faults.filter((fault) => fault.code === code).map(({ field }) => field)),
  ];
  const lists = [
    { name: 'missing', fields: fieldsOf('missing') },
    { name: 'not valid', fields: fieldsOf('invalid') },
  ].filter(({ fields }) => fields.length > 0);
  if (lists.length > 0) {
    const detail = lists.map(({ name, fields }) => `${name}: ${fields.join(', ')}`).join('; ');
    return { rule: 'details_missing', detail: `of the recipient's details, ${detail}` };
  }
  const [first] = faults;
  return first && { rule: 'recipient_refused', detail: `${first.field}: ${first.detail}` };
}
