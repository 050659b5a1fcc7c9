import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, maybeOne, type RowOf } from '../db/rows.ts';
import { messageStates } from './provider.ts';

const messageColumns = {
  state: column.oneOf(...messageStates),
  provider: column.text,
  rules: column.texts,
  provider_reference: column.text,
  first_at: column.instant,
  answered_at: column.instant,
};
export type TravelRuleMessageRow = RowOf<typeof messageColumns>;

const findMessageQuery = defineQuery({
  name: 'find_travel_rule_message',
  text: `
    select state, provider, rules, provider_reference, first_at, answered_at
    from travel_rule_messages where account_id = $1 and payout_id = $2`,
  columns: messageColumns,
});

/** What was passed on about a payout, last; undefined: nothing. */
export async function findMessage(
  session: Session,
  payout: { accountId: string; payoutId: string },
): Promise<TravelRuleMessageRow | undefined> {
  return maybeOne(session, findMessageQuery, [payout.accountId, payout.payoutId]);
}

const findAcceptedQuery = defineQuery({
  name: 'find_accepted_travel_rule_message',
  text: `
    select rules, message from travel_rule_messages
    where account_id = $1 and payout_id = $2 and state = 'accepted'`,
  columns: { rules: column.texts, message: column.bytes },
});

/** The sealed message that the provider has accepted about a payout, and the rules that asked for it. */
export async function findAccepted(
  session: Session,
  payout: { accountId: string; payoutId: string },
): Promise<{ rules: readonly string[]; message: Buffer } | undefined> {
  return maybeOne(session, findAcceptedQuery, [payout.accountId, payout.payoutId]);
}

const storeMessageText: Statement = {
  name: 'store_travel_rule_message',
  text: `
    insert into travel_rule_messages (account_id, payout_id, user_id, rules, provider, message, state,
      provider_reference, first_at, answered_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, environment_now(), environment_now())
    on conflict (account_id, payout_id) do update set rules = excluded.rules,
      provider = excluded.provider, message = excluded.message, state = excluded.state,
      provider_reference = excluded.provider_reference, answered_at = excluded.answered_at`,
};

export type NewMessage = {
  accountId: string;
  payoutId: string;
  userId: string;
  rules: readonly string[];
  provider: string;
  sealed: Buffer;
  state: string;
  reference: string;
};

export async function storeMessage(session: Session, message: NewMessage): Promise<void> {
  await exec(session, storeMessageText, [
    message.accountId,
    message.payoutId,
    message.userId,
    message.rules,
    message.provider,
    message.sealed,
    message.state,
    message.reference,
  ]);
}
