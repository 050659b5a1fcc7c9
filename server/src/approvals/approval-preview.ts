import { formatToken } from '../core/ids.ts';
import { listQuotingAccounts } from '../payouts/quoting-accounts.ts';
import type { ApprovalRule } from './approval-rules.ts';
import { matchRules } from './approval-rules.ts';
import { selectPastPayouts } from './approvals.sql.ts';

import { type ApprovalServices, createConverter, readFacts } from './approvals.ts';

/** What rules would have held: they are tried on past payouts before they take effect. */

export type ApprovalPreview = {
  /** Committed payouts of the time. */
  payouts: number;
  /** Those that at least one rule would have held. */
  held: number;
  rules: { name: string; held: number }[];
  /** The newest of the held ones. */
  examples: { payout_token: string; rules: string[] }[];
};

const pageRows = 1_000;
const examplesMax = 20;
const firstId = '00000000-0000-0000-0000-000000000000';

/**
 * Amounts in other currencies are compared at the present rates. Without an account: the payouts of all
 * accounts.
 */
export async function previewRules(
  services: ApprovalServices,
  rules: readonly ApprovalRule[],
  past: { accountId: string | undefined; since: Date },
): Promise<ApprovalPreview> {
  const convert = createConverter(services.rates);
  const counts = new Map(rules.map(({ name }) => [name, 0]));
  const preview: ApprovalPreview = { payouts: 0, held: 0, rules: [], examples: [] };
  const accounts =
    past.accountId === undefined
      ? listQuotingAccounts(services.session, { since: past.since })
      : [past.accountId];
  for await (const accountId of accounts) {
    for await (const row of readPast(services, accountId, past.since)) {
      preview.payouts += 1;
      const names = matchRules(rules, readFacts(services.keys, row), convert).map(
        ({ name }) => name,
      );
      if (names.length === 0) continue;
      preview.held += 1;
      for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
      preview.examples.push({ payout_token: formatToken('payout', row.payout_id), rules: names });
      if (preview.examples.length > examplesMax) preview.examples.shift();
    }
  }
  preview.rules = [...counts].map(([name, held]) => ({ name, held }));
  preview.examples.reverse();
  return preview;
}

async function* readPast({ session }: ApprovalServices, accountId: string, since: Date) {
  for (let after = { createdUs: 0n, id: firstId }; ; ) {
    const rows = await selectPastPayouts(session, { accountId, since, after, count: pageRows });
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = { createdUs: last.created_us, id: last.payout_id };
  }
}
