import { openValues } from '../attributes/attribute-values.ts';
import { corridorOf } from '../attributes/attributes.ts';
import type { Corridor } from '../attributes/requirements.ts';
import { amountFaults } from '../core/amount-faults.ts';
import { findCurrency } from '../core/currency.ts';
import { formatToken, newId } from '../core/ids.ts';
import { parseAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import type { Catalog } from '../destinations/catalog.ts';
import { lacksPrice, type Quote, quotePayer, type RefusalReason } from '../destinations/quote.ts';
import { listMissingValues } from '../payouts/commit-refusal.ts';
import { describeMissingAttributes, describeUserStatus } from '../payouts/obstacles.ts';
import { rankPayers } from './cheapest.ts';
import { type CheckedRow, type DraftRow, type RowChecker } from './draft-row.ts';
import type { RowFault } from './file/file-row.ts';
import {
  type BatchSetRow,
  type BatchUserRow,
  type CommittedTransferRow,
  findBatchSets,
  findCommittedTransfers,
} from './row-context.sql.ts';
import { sealRowMetadata } from './row-metadata.ts';
import type { RowTerms } from './row-terms.ts';
import { isText, readUsers, type UserIndex } from './row-users.ts';
import { describeUnverified, writeCorridor } from './unverified.ts';

/** Checks whether rows can become payouts, and at which price. Their form is checked before. */

type Owner = { session: Session; accountId: string };

type Facts = {
  user: BatchUserRow | undefined;
  /** Where the row can be paid to, the cheapest first; one where it names the destination. */
  options: readonly RowTerms[];
  amountMinor: bigint | undefined;
  committed: CommittedTransferRow | undefined;
};

/** Checks rows against the database in a few statements for the whole portion. */
export async function checkRows(
  checker: RowChecker,
  owner: Owner,
  drafts: readonly DraftRow[],
): Promise<CheckedRow[]> {
  const [users, committed] = await Promise.all([
    readUsers({ ...owner, keys: checker.keys }, drafts),
    readCommitted(owner, drafts),
  ]);
  const facts = drafts.map((draft): Facts => {
    const first =
      draft.clientTransferId === undefined ? undefined : committed.get(draft.clientTransferId);
    const user = checkUser(draft, users);
    const named = checkDestination(draft, checker);
    const amountMinor = checkAmount(draft);
    const options =
      named === undefined ? listCheapest(draft, { user, amountMinor }, checker) : [named];
    return { user, options, amountMinor, committed: first };
  });
  const chosen = await chooseSets(owner, drafts, facts);
  return drafts.map((draft, index) => {
    const known = facts[index];
    if (known === undefined) throw new Error('unreachable: every row has facts');
    const { terms = known.options[0], set } = chosen.get(index) ?? {};
    return checkRow(draft, { ...known, terms, set }, checker);
  });
}

async function readCommitted(
  owner: Owner,
  drafts: readonly DraftRow[],
): Promise<Map<string, CommittedTransferRow>> {
  const transferIds = drafts.map(({ clientTransferId }) => clientTransferId).filter(isText);
  const rows = await findCommittedTransfers(owner.session, { ...owner, transferIds });
  return new Map(rows.map((row) => [row.client_transfer_id, row]));
}

/**
 * Of the destinations that a row can be paid to, the cheapest for which the recipient's details are
 * complete, and else the cheapest; with its attribute set.
 */
async function chooseSets(
  { session, accountId }: Owner,
  drafts: readonly DraftRow[],
  facts: readonly Facts[],
): Promise<Map<number, { terms: RowTerms; set: BatchSetRow | undefined }>> {
  const wanted = facts.flatMap(({ user, options }, index) =>
    user === undefined ? [] : options.map((terms) => ({ index, user, terms })),
  );
  const sets = await findBatchSets(
    session,
    accountId,
    wanted.map(({ index, user, terms }) => ({
      userId: user.id,
      destinationToken: terms.payer.destinationToken,
      currency: terms.destinationCurrency,
      setId: drafts[index]?.attrSetId,
    })),
  );
  const chosen = new Map<number, { terms: RowTerms; set: BatchSetRow | undefined }>();
  const complete = new Set<number>();
  for (const [order, { index, terms }] of wanted.entries()) {
    const set = sets[order];
    const isComplete = !terms.needsAttributes || set?.is_complete === true;
    if (complete.has(index) || (chosen.has(index) && !isComplete)) continue;
    chosen.set(index, { terms, set });
    if (isComplete) complete.add(index);
  }
  return chosen;
}

function addFault(draft: DraftRow, column: string, fault: Omit<RowFault, 'column'>): void {
  draft.faults.push({ column, ...fault });
}

function checkUser(draft: DraftRow, users: UserIndex): BatchUserRow | undefined {
  const { userId, internalUserId } = draft;
  const byToken = userId === undefined ? undefined : users.byId.get(userId);
  const byName = internalUserId === undefined ? undefined : users.byInternalId.get(internalUserId);
  if (userId !== undefined && byToken === undefined) {
    addFault(draft, 'user_token', { code: 'unknown_user', detail: 'user_token not found' });
    return undefined;
  }
  if (internalUserId !== undefined && byName === undefined) {
    const detail = 'internal_user_id not found';
    addFault(draft, 'internal_user_id', { code: 'unknown_user', detail });
    return undefined;
  }
  if (byToken !== undefined && byName !== undefined && byToken.id !== byName.id) {
    const detail = 'internal_user_id and user_token must name the same user';
    addFault(draft, 'internal_user_id', { code: 'user_mismatch', detail });
    return undefined;
  }
  return byToken ?? byName;
}

function checkDestination(draft: DraftRow, checker: RowChecker): RowTerms | undefined {
  const { destinationToken, destinationCurrency, sourceCurrency } = draft;
  const source = sourceCurrency === undefined ? undefined : checker.wallets.get(sourceCurrency);
  if (sourceCurrency !== undefined && source === undefined) {
    const detail = `the account has no balance in ${sourceCurrency}`;
    addFault(draft, 'source_currency_code', { code: 'no_balance_in_currency', detail });
  }
  if (destinationToken === undefined) return undefined;
  const payer = checker.catalog.findPayer(destinationToken);
  if (payer === undefined) {
    const detail = 'destination_token not found';
    addFault(draft, 'destination_token', { code: 'unknown_destination', detail });
    return undefined;
  }
  if (destinationCurrency === undefined) return undefined;
  if (!payer.currencies.includes(destinationCurrency)) {
    const detail = `destination_currency_code must be one of ${payer.currencies.join(', ')} for this destination`;
    addFault(draft, 'destination_currency_code', { code: 'currency_not_delivered', detail });
    return undefined;
  }
  if (source === undefined) return undefined;
  return checker.book.find({ payer, source, destinationCurrency });
}

/** The destinations of the delivery type that take the amount, the cheapest first. */
function listCheapest(
  draft: DraftRow,
  { user, amountMinor }: Pick<Facts, 'user' | 'amountMinor'>,
  { catalog, wallets, book }: RowChecker,
): RowTerms[] {
  const { deliveryType, destinationCurrency, sourceCurrency = '', amount } = draft;
  const country = draft.countryCode ?? user?.country;
  const source = wallets.get(sourceCurrency);
  if (deliveryType === undefined || country === undefined || source === undefined) return [];
  if (destinationCurrency === undefined || amount === undefined || amountMinor === undefined) {
    return [];
  }
  const { side } = amount;
  const wanted = { country, deliveryType, sourceCurrency, destinationCurrency };
  const { payers, refusal } = rankPayers(
    { catalog, rates: book.rates },
    { ...wanted, amount: { side, minor: amountMinor } },
  );
  if (payers.length === 0) {
    const detail = `no payer in ${country} has ${deliveryType} in ${destinationCurrency}`;
    const none = { column: 'delivery_type', code: 'no_destination', detail } as const;
    draft.faults.push(refusal === undefined ? none : describeRefusal(side, refusal));
  }
  return payers.map((payer) => book.find({ payer, source, destinationCurrency }));
}

/** The amount in minor units of its currency; a fault where it does not fit the currency. */
function checkAmount(draft: DraftRow): bigint | undefined {
  const { amount } = draft;
  if (amount === undefined) return undefined;
  const code = amount.side === 'source' ? draft.sourceCurrency : draft.destinationCurrency;
  const currency = code === undefined ? undefined : findCurrency(code);
  // The fault of the currency was reported already.
  if (currency === undefined) return undefined;
  const parsed = parseAmount(amount.text, currency);
  if (parsed.ok) return parsed.minor;
  const name = `${amount.side}_amount`;
  addFault(draft, name, amountFaults(name, parsed.fault, currency));
  return undefined;
}

type RowFacts = Facts & { terms: RowTerms | undefined; set: BatchSetRow | undefined };

function checkRow(draft: DraftRow, facts: RowFacts, checker: RowChecker): CheckedRow {
  const { user, committed } = facts;
  const isFirst = checkFirst(draft, checker.firstRows);
  const known = { draft, userId: user?.id, dataKey: user?.data_key };
  const found = { ...known, terms: undefined, quote: undefined, set: undefined };
  if (committed !== undefined) {
    if (isFirst && isSame(draft, facts, { committed, catalog: checker.catalog })) {
      // Faults found now do not matter, because the payout was committed before.
      draft.faults.length = 0;
      return { ...found, status: 'REPEATED', payoutId: committed.id };
    }
    const first = formatToken('payout', committed.id);
    const detail = `client_transfer_id was already committed with other terms as ${first}`;
    addFault(draft, 'client_transfer_id', { code: 'duplicate_transfer', detail });
  }
  if (user !== undefined && user.status !== 'ACTIVE') {
    const column = draft.userId === undefined ? 'internal_user_id' : 'user_token';
    addFault(draft, column, describeUserStatus(user.status));
  }
  const quote = checkPrice(draft, facts, checker);
  checkRequirements(draft, facts, { checker, quote });
  const { terms } = facts;
  if (draft.faults.length > 0 || quote === undefined || terms === undefined) {
    return { ...found, status: 'INVALID', payoutId: undefined };
  }
  const valid = { ...found, status: 'VALID', payoutId: newId(), terms, quote } as const;
  return { ...valid, set: facts.set, metadata: sealRowMetadata(draft, valid, { user, checker }) };
}

function checkFirst(draft: DraftRow, firstRows: Map<string, number>): boolean {
  const { clientTransferId, number } = draft;
  if (clientTransferId === undefined) return true;
  const first = firstRows.get(clientTransferId);
  if (first === undefined) rememberFirst(firstRows, clientTransferId, number);
  if (first === undefined || first === number) return true;
  const detail = `client_transfer_id must be unique in the file; row ${first} has it too`;
  addFault(draft, 'client_transfer_id', { code: 'repeated_in_file', detail });
  return false;
}

/** Stores a copy: a text cut out of a row keeps the whole row in memory. */
export function rememberFirst(
  firstRows: Map<string, number>,
  clientTransferId: string,
  number: number,
): void {
  firstRows.set(Buffer.from(clientTransferId).toString(), number);
}

/** Whether the row requests the same payout that was committed under its client_transfer_id. */
function isSame(
  draft: DraftRow,
  { user, amountMinor }: Facts,
  { committed, catalog }: { committed: CommittedTransferRow; catalog: Catalog },
): boolean {
  const paidBy = catalog.findPayer(committed.destination_token);
  const amount =
    draft.amount?.side === 'source' ? committed.source_amount : committed.destination_amount;
  return (
    user?.id === committed.user_id &&
    (draft.destinationToken === undefined
      ? draft.deliveryType === paidBy?.deliveryType &&
        (draft.countryCode ?? user?.country) === paidBy?.country.code
      : draft.destinationToken === committed.destination_token) &&
    draft.destinationCurrency === committed.destination_currency &&
    draft.sourceCurrency === committed.source_currency &&
    amountMinor === amount
  );
}

/** The quote, also of a row with other faults, so that all faults are reported at once. */
function checkPrice(
  draft: DraftRow,
  { terms, amountMinor }: RowFacts,
  { book }: RowChecker,
): Quote | undefined {
  if (terms === undefined || amountMinor === undefined || draft.amount === undefined) {
    return undefined;
  }
  const { side } = draft.amount;
  const quote = quotePayer({
    payer: terms.payer,
    sourceCurrency: terms.sourceCurrency,
    destinationCurrency: terms.destinationCurrency,
    amount: { side, minor: amountMinor },
    rates: book.rates,
  });
  if (quote.ok) return quote;
  draft.faults.push(describeRefusal(side, quote));
  return undefined;
}

export function describeRefusal(
  side: 'source' | 'destination',
  { reason, detail }: { reason: RefusalReason; detail: string },
): RowFault {
  return lacksPrice(reason)
    ? { column: 'destination_currency_code', code: 'rates_unavailable', detail }
    : { column: `${side}_amount`, code: reason, detail };
}

function checkRequirements(
  draft: DraftRow,
  facts: RowFacts,
  { checker, quote }: { checker: RowChecker; quote: Quote | undefined },
): void {
  const { user, terms, set } = facts;
  if (user === undefined || terms === undefined) return;
  if (draft.attrSetId !== undefined && set === undefined) {
    const detail = 'attr_set_token not found for this user, destination and currency';
    addFault(draft, 'attr_set_token', { code: 'unknown_attr_set', detail });
  } else if (terms.needsAttributes && set?.is_complete !== true) {
    const lack = describeLack(user, { terms, set }, checker);
    const { destinationToken, name } = terms.payer;
    if (draft.destinationToken === undefined) {
      lack.detail += `; the destination is ${destinationToken} (${name})`;
    }
    addFault(draft, 'attr_set_token', lack);
  }
  if (quote?.verificationRequired === true && user.kyc_status !== 'approved') {
    const column = draft.userId === undefined ? 'internal_user_id' : 'user_token';
    addFault(draft, column, describeUnverified(user.session_status, corridorOfTerms(terms)));
  }
}

function corridorOfTerms({ payer, destinationCurrency: currency }: RowTerms): Corridor {
  return corridorOf({ payer, currency });
}

function describeLack(
  user: BatchUserRow,
  { terms, set }: { terms: RowTerms; set: BatchSetRow | undefined },
  { keys, accountId, today }: RowChecker,
): Omit<RowFault, 'column'> {
  const corridor = corridorOfTerms(terms);
  const owner = { accountId, userId: user.id };
  const sealed = set?.sealed;
  const values =
    set === undefined || sealed === undefined || sealed === null
      ? {}
      : openValues(keys.unwrap(user.data_key, owner), sealed, { ...owner, setId: set.id });
  const missing = listMissingValues(corridor, values, today);
  const { detail } = describeMissingAttributes(missing);
  const attributes = missing.flatMap(({ type }) => (type === '' ? [] : [type]));
  return { code: 'addtl_attr_req', detail, lacks: { ...writeCorridor(corridor), attributes } };
}
