/** Which entries of the bank are which settlements of the ledger. A pure function of what is open. */

export type OpenEntry = {
  readonly id: string;
  /** YYYY-MM-DD. */
  readonly bookedOn: string;
  readonly direction: 'debit' | 'credit';
  readonly amountMinor: bigint;
  /** Several for a batch that is booked as one amount. */
  readonly references: readonly string[];
  readonly bankReference: string;
  /** References of the batch that the entry names, where it is one of ours. */
  readonly batchReferences: readonly string[];
  /** How many payments the batch has, as the bank says. */
  readonly batchCount: number | undefined;
};

export type OpenItem = {
  readonly id: string;
  readonly bookedOn: string;
  readonly direction: 'debit' | 'credit';
  readonly amountMinor: bigint;
  readonly reference: string;
  readonly providerReference: string;
  /** A charge of the rail, which the bank books with the payment or by itself. */
  readonly isCharge: boolean;
};

export type Match = {
  readonly kind: 'reference' | 'batch';
  readonly entryId: string;
  readonly itemIds: readonly string[];
};

/**
 * Matches items of one rail and currency. An entry needs a reference in common with what it is matched
 * with, and the same sum: equal amounts alone prove nothing. Tried in this order:
 *
 * 1. one settlement with its reference, direction and amount, the oldest first;
 * 2. all settlements with its reference together: a payment with the charge that was deducted;
 * 3. all settlements of the payments that it lists, or of the batch that it names, in the number that the
 *    bank gives.
 */
export function matchItems(entries: readonly OpenEntry[], items: readonly OpenItem[]): Match[] {
  const index = indexItems(items);
  const taken = new Set<string>();
  const matches: Match[] = [];
  const findOpen = (references: readonly string[]): OpenItem[] => {
    const found = references.flatMap((reference) => index.get(reference) ?? []);
    return [...new Set(found)].filter(({ id }) => !taken.has(id));
  };
  const take = (kind: Match['kind'], entry: OpenEntry, chosen: readonly OpenItem[]): void => {
    for (const { id } of chosen) taken.add(id);
    matches.push({ kind, entryId: entry.id, itemIds: chosen.map(({ id }) => id) });
  };
  const rest = entries.filter((entry) => {
    const [only, ...others] = namesOf(entry);
    if (only === undefined || entry.references.length > 1) return true;
    const same = findOpen([only, ...others]).find((item) => isEqual(entry, item));
    if (same !== undefined) take('reference', entry, [same]);
    return same === undefined;
  });
  for (const entry of rest) {
    const isBatch = entry.references.length > 1 || entry.batchReferences.length > 0;
    const names = isBatch ? [...entry.references, ...entry.batchReferences] : namesOf(entry);
    const chosen = chooseSum(entry, findOpen(names));
    if (chosen !== undefined) take(isBatch ? 'batch' : 'reference', entry, chosen);
  }
  return matches;
}

function namesOf({ references, bankReference }: OpenEntry): string[] {
  return [...references, bankReference].filter((name) => name !== '');
}

function indexItems(items: readonly OpenItem[]): Map<string, OpenItem[]> {
  const index = new Map<string, OpenItem[]>();
  const sorted = items.toSorted(
    (a, b) => a.bookedOn.localeCompare(b.bookedOn) || a.id.localeCompare(b.id),
  );
  for (const item of sorted) {
    for (const name of new Set([item.reference, item.providerReference])) {
      if (name === '') continue;
      const known = index.get(name);
      if (known === undefined) index.set(name, [item]);
      else known.push(item);
    }
  }
  return index;
}

function isEqual(entry: OpenEntry, item: OpenItem): boolean {
  return entry.direction === item.direction && entry.amountMinor === item.amountMinor;
}

function signed({ direction, amountMinor }: Pick<OpenItem, 'direction' | 'amountMinor'>): bigint {
  return direction === 'debit' ? amountMinor : -amountMinor;
}

/** The payments, with their charges, or with all else, where they add up to the entry. */
function chooseSum(entry: OpenEntry, candidates: readonly OpenItem[]): OpenItem[] | undefined {
  const sameDirection = candidates.filter(({ direction }) => direction === entry.direction);
  const payments = sameDirection.filter(({ isCharge }) => !isCharge);
  const { batchCount } = entry;
  return [payments, sameDirection, [...candidates]].find(
    (chosen) =>
      chosen.length > 0 &&
      (batchCount === undefined ||
        batchCount === chosen.filter(({ isCharge }) => !isCharge).length) &&
      chosen.reduce((sum, item) => sum + signed(item), 0n) === signed(entry),
  );
}
