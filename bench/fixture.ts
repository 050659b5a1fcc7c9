import { createAccount } from '../server/src/accounts/accounts.ts';
import { newId } from '../server/src/core/ids.ts';
import type { KeyRing } from '../server/src/core/sealing.ts';
import type { Database } from '../server/src/db/postgres/pool.ts';
import { fundBalance, verifyLedger } from '../server/src/ledger/ledger.ts';
import { setOpenQuoteLimits } from '../server/src/payouts/open-quotes.ts';
import { commitPayout } from '../server/src/payouts/payouts.ts';
import { insertPayouts, type NewPayout } from '../server/src/payouts/quotes.sql.ts';
import { createUser, prepareUser } from '../server/src/users/users.ts';
import { readRows } from '../server/testing/setups/read-rows.ts';
import type { Workload } from './subject.ts';
import { accountCount, createPicker } from './workload.ts';

/** What our own runs start from: funded accounts with a user each, and payouts ready to commit. */

export type Owner = { accountId: string; userId: string; apiKey: string };
export type ReadyPayout = {
  accountId: string;
  userId: string;
  payoutId: string;
  clientTransferId: string;
};
export type Fixture = Awaited<ReturnType<typeof createFixture>>;

/** What one payout takes from the balance: 100.00 and a fee of 1.00. */
export const payoutMinor = 10_100n;

/** Of the fixture's own payouts. The service has no such rail, so they stay due. */
export const fixtureRail = 'instant';
const dayMs = 86_400_000;
/** Payouts that are made in one statement. */
const windowSize = 500;
const plentyMinor = 9_000_000_000_000_000n;

export async function createFixture(parts: { db: Database; keys: KeyRing }) {
  const { db } = parts;
  const createFundedOwner = async (fundsMinor: bigint): Promise<Owner> => {
    const owner = await createOwner(parts, fundsMinor + payoutMinor);
    const { accountId, userId } = owner;
    // An account's first commit opens its ledger accounts; the runs measure the ones after it.
    const quote = describeQuote({ accountId, userId });
    await insertPayouts(db.system, [quote], true);
    const session = db.tenant(accountId);
    const { status } = await commitPayout({ session, accountId, userId }, quote.id);
    if (status !== 'success') throw new Error(`the first commit answered ${status}`);
    return owner;
  };
  const owners: Owner[] = [await createFundedOwner(plentyMinor)];
  const getOwner = (index: number): Owner => {
    const owner = owners[index];
    if (owner === undefined) throw new Error('the accounts of this workload were not made');
    return owner;
  };
  const makePayouts = async (
    count: number,
    pick: () => Pick<Owner, 'accountId' | 'userId'>,
  ): Promise<ReadyPayout[]> => {
    const ready: ReadyPayout[] = [];
    while (ready.length < count) {
      const size = Math.min(windowSize, count - ready.length);
      const quotes = Array.from({ length: size }, () => describeQuote(pick()));
      await insertPayouts(db.system, quotes, true);
      for (const { accountId, userId, id, clientTransferId } of quotes) {
        ready.push({ accountId, userId, payoutId: id, clientTransferId });
      }
    }
    return ready;
  };
  return {
    hot: getOwner(0),
    /** What each account of the workloads began with. */
    fundedMinor: plentyMinor,
    listOwners: (): readonly Owner[] => owners,
    /** With this much left after the commit that opens its books. */
    createOwner: createFundedOwner,
    /** Payouts in the order in which the workload commits them. */
    prepareWorkload: async (workload: Workload, count: number): Promise<ReadyPayout[]> => {
      while (workload !== 'hot' && owners.length < accountCount) {
        const size = Math.min(25, accountCount - owners.length);
        const made = Array.from({ length: size }, () => createFundedOwner(plentyMinor));
        owners.push(...(await Promise.all(made)));
      }
      const pick = createPicker(workload);
      return makePayouts(count, () => getOwner(pick()));
    },
    makePayouts: (count: number, owner: Pick<Owner, 'accountId' | 'userId'>) =>
      makePayouts(count, () => owner),
    /** How many commits of this payout are in the ledger. */
    countEffects: async (payoutId: string): Promise<number> => {
      const [row] = await readRows<{ count: number }>(
        db.system,
        {
          name: '',
          text: `
            select count(distinct journal_id)::integer as count from ledger_transfers
            where payout_id = $1 and kind = 'commit'`,
        },
        [payoutId],
      );
      return row?.count ?? 0;
    },
    readWallet: async (accountId: string): Promise<bigint> => {
      const [row] = await readRows<{ balance: bigint }>(
        db.system,
        {
          name: '',
          text: `
            select balance from ledger_accounts
            where account_id = $1 and currency = 'USD' and name = 'wallet'`,
        },
        [accountId],
      );
      return row?.balance ?? 0n;
    },
    check: async (): Promise<void> => {
      const { isSound, ...proof } = await verifyLedger(db);
      if (!isSound) throw new Error(`wrong books: ${JSON.stringify(proof).slice(0, 500)}`);
    },
  };
}

async function createOwner(
  { db, keys }: { db: Database; keys: KeyRing },
  fundsMinor: bigint,
): Promise<Owner> {
  const made = await db.systemTransaction((session) =>
    createAccount(session, { name: 'Bench', environmentName: 'staging', keys }),
  );
  const accountId = made.account;
  // The runs prepare more quotes than a client may hold.
  const limits = { countMax: 1_000_000_000, usdMax: 1_000_000_000_000 };
  await setOpenQuoteLimits(db.system, { accountId, ...limits });
  await fundBalance(db.system, { accountId, currency: 'USD', amountMinor: fundsMinor });
  const described = prepareUser(
    { keys, accountId },
    {
      internal_user_id: 'bench',
      country: 'MEX',
      first_name: 'Bench',
      last_name: 'Mark',
      email: 'bench@example.org',
      metadata: undefined,
    },
  );
  const user = await createUser(db.tenant(accountId), described);
  return { accountId, userId: user.id, apiKey: made.api_key };
}

/** A new quote that stays valid for a day. */
export function describeQuote({
  accountId,
  userId,
}: Pick<Owner, 'accountId' | 'userId'>): NewPayout {
  return {
    accountId,
    userId,
    id: newId(),
    clientTransferId: newId(),
    sourceToken: newId(),
    sourceCurrency: 'USD',
    sourceMinor: 10_000n,
    feeMinor: 100n,
    destinationToken: newId(),
    destinationCurrency: 'MXN',
    destinationMinor: 180_000n,
    exchangeRate: '18',
    midRate: '18.2',
    usdMinor: 10_000n,
    roundingNano: 0n,
    rail: fixtureRail,
    payerKey: 'one',
    payerName: 'Bank',
    attrSetId: undefined,
    deliveryType: 'BANK_DEPOSIT',
    countryCode: 'MEX',
    needsAttributes: false,
    needsVerification: false,
    notifyUser: false,
    metadata: '{}',
    lockSeconds: dayMs / 1000,
    estimatedAvailability: new Date(Date.now() + dayMs),
    metadataHashes: [],
  };
}
