import { type AttributeValues, openValues } from '../attributes/attribute-values.ts';
import { describeIdentity, describeMissingTypes } from '../attributes/attributes.ts';
import { checkValues } from '../attributes/checks.ts';
import type { MissingDetail } from '../attributes/missing.ts';
import { type Corridor, getProfile } from '../attributes/requirements.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { findIdentityState } from '../kyc/identity-state.ts';
import type { Rail } from '../rails/contract/contract.ts';
import type { CommitRow } from './commit.sql.ts';
import { type CommitFacts, findCommitFacts, type PayoutId } from './commit-refusal.sql.ts';
import {
  describeMissingAttributes,
  describeShortfall,
  describeUnverified,
  describeUserStatus,
  type Obstacle,
} from './obstacles.ts';
import { describeCorridor } from './recipient-check.ts';

/** What a refused commit tells the client. It is read after the decision, which it cannot change. */

export type RefusalContext = {
  readonly keys: KeyRing;
  readonly rails: readonly Rail[];
  /** YYYY-MM-DD. */
  readonly today: string;
  /** Where the recipient can be verified; "" if the client must not know. */
  readonly identityLink: string;
};

/** `errors`: the sentence of the answer. */
type Refusal = { payout: PayoutId; row: Pick<CommitRow, 'result' | 'detail'>; errors: string };

/** The obstacle of a refused commit. */
export async function describeRefusal(
  context: RefusalContext,
  session: Session,
  { payout, row, errors }: Refusal,
): Promise<Obstacle> {
  switch (row.result) {
    case 'ex_rate_expired':
      return { code: 'ex_rate_expired', detail: errors };
    case 'duplicate':
      return { code: 'duplicate_transfer', detail: errors };
    case 'account_frozen':
    case 'commits_stopped':
      return { code: row.result, detail: errors };
    case 'user_not_active':
      return describeUserStatus(row.detail);
    case 'insufficient_funds': {
      const facts = await findCommitFacts(session, payout);
      const shortfall = facts === undefined ? undefined : describeDebit(facts);
      // The balance may have grown since the decision.
      return shortfall ?? { code: 'insufficient_funds', detail: errors };
    }
    case 'addtl_attr_req':
      return describeRequirements(context, session, payout);
    case 'ended':
      return { code: 'payout_ended', detail: errors };
    case 'success':
    case 'not_found':
      throw new Error('unreachable: the caller handles success and not_found');
  }
}

function describeDebit(facts: CommitFacts): Obstacle | undefined {
  return describeShortfall({
    neededMinor: facts.source_amount + facts.fee,
    balanceMinor: facts.balance,
    currency: facts.source_currency,
  });
}

async function describeRequirements(
  context: RefusalContext,
  session: Session,
  payout: PayoutId,
): Promise<Obstacle> {
  const facts = await findCommitFacts(session, payout);
  if (facts === undefined) return describeMissingAttributes([]);
  const identity = facts.lacks_verification
    ? await findMissingIdentity(context, session, { ...payout, ...corridorOf(context, facts) })
    : undefined;
  if (!facts.lacks_attributes && identity !== undefined) return describeUnverified(identity);
  const missing = listMissingOf(context, payout, facts);
  return describeMissingAttributes(identity === undefined ? missing : [...missing, identity]);
}

function corridorOf({ rails }: Pick<RefusalContext, 'rails'>, facts: CommitFacts): Corridor {
  return describeCorridor(
    rails.find(({ name }) => name === facts.rail),
    facts,
  );
}

function listMissingOf(
  { keys, rails, today }: RefusalContext,
  { accountId, userId }: PayoutId,
  facts: CommitFacts,
): MissingDetail[] {
  const owner = { accountId, userId };
  const values =
    facts.sealed === null || facts.set_id === null
      ? {}
      : openValues(keys.unwrap(facts.data_key, owner), facts.sealed, {
          ...owner,
          setId: facts.set_id,
        });
  return listMissingValues(corridorOf({ rails }, facts), values, today);
}

/** The required attributes of a corridor that the values lack. */
export function listMissingValues(
  corridor: Corridor,
  values: AttributeValues,
  today: string,
): MissingDetail[] {
  const profile = getProfile(corridor);
  const stored = new Map(Object.entries(values)) as Parameters<typeof checkValues>[2]['values'];
  const { missing } = checkValues(profile, corridor, { values: stored, today });
  return describeMissingTypes(profile, missing);
}

/** The identity verification of a user who is not approved. */
export async function findMissingIdentity(
  { keys, identityLink }: Omit<RefusalContext, 'today' | 'rails'>,
  session: Session,
  user: Corridor & { accountId: string; userId: string },
): Promise<MissingDetail> {
  const { accountId, userId, ...corridor } = user;
  const state = await findIdentityState({ session, keys }, { accountId, userId });
  const identity = describeIdentity(getProfile(corridor), state);
  return { ...identity, link: state.code === 'identity_in_review' ? '' : identityLink };
}
