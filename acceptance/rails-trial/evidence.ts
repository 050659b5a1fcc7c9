import { formatDecimal, subtract } from '../exact.ts';
import type { Books } from '../reliability-kit.ts';
import { type Api, readBalance } from '../service.ts';
import { takeSnapshot } from './books.ts';
import type { AskedPayout, Counterpart } from './counterpart.ts';
import type { Journal } from './journal.ts';
import type { Evidence } from './judge.ts';

/** Collects what the judge compares: the client's journal, the database, the counterparts' books. */

export type EvidenceSources = {
  readonly accountId: string;
  readonly entries: Journal['entries'];
  readonly counterparts: readonly Counterpart[];
  readonly books: Books;
  /** In whole USD. */
  readonly funded: string;
};

export async function gatherEvidence(sources: EvidenceSources): Promise<Evidence> {
  const { accountId, entries, counterparts, books } = sources;
  const snapshot = await takeSnapshot(books, accountId);
  const byTransfer = new Map(entries.map((entry) => [entry.transferId, entry]));
  const booked: Evidence['booked'][number][] = [];
  for (const { rail, listBooked } of counterparts) {
    const asked = snapshot.payouts.flatMap((payout): AskedPayout[] => {
      const entry = payout.rail === rail ? byTransfer.get(payout.transferId) : undefined;
      if (entry === undefined) return [];
      const { destination, currency, amountMinor } = entry;
      const [reference = payout.id] = payout.references;
      return [{ reference, destination, currency, amountMinor }];
    });
    for (const payment of await listBooked(asked)) booked.push({ rail, payment });
  }
  const funded = { USD: BigInt(sources.funded) * 100n };
  return { entries, snapshot, booked, funded };
}

/** The proof of the ledger, and the balance that the client is answered. */
export async function checkBooks({
  books,
  evidence,
  api,
}: {
  books: Books;
  evidence: Evidence;
  api: Api;
}): Promise<string[]> {
  const faults: string[] = [];
  await books.assertSound().catch((error: unknown) => faults.push(`the ledger: ${String(error)}`));
  const wallet = evidence.snapshot.balances.find(
    ({ name, currency }) => name === 'wallet' && currency === 'USD',
  );
  const answered = subtract(await readBalance(api), '0');
  const kept = formatDecimal({ digits: wallet?.balance ?? 0n, scale: 2 });
  if (answered !== kept)
    faults.push(`the client is answered ${answered} USD, the ledger has ${kept}`);
  return faults;
}
