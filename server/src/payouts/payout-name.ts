/** What a payout is found by: its account owns the rows. */
export type PayoutName = { accountId: string; payoutId: string };
