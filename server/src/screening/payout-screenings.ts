import type { Session } from '../db/postgres/pool.ts';
import { type Hit, nameFields, type OtherName, type ScreenedPerson } from './hit.ts';
import { readWords } from './names.ts';
import {
  type ClearedRow,
  findListedWallets,
  type NewPayoutRow,
  type PayoutKey,
  readCleared,
  readPayoutHistory,
  type WalletHitRow,
  writeClearance,
  writePayoutRows,
} from './payout-screenings.sql.ts';
import {
  type ScreeningServices,
  screenUsers,
  type UserScreening,
  type UserToScreen,
} from './records.ts';
import {
  defaultThresholdPermille,
  type ListsInForce,
  readListsInForce,
  type ScreeningOptions,
  screenPersons,
} from './screening.ts';
import { normalizeWallet } from './wallets.ts';

/**
 * Screening of payouts: the recipient, the names in the attributes (the account's holder becomes the
 * creditor of a bank transfer), and the wallet. The result is kept with each payout.
 */

export type PayoutToScreen = UserToScreen & {
  readonly payoutId: string;
  /** Attribute type to value. */
  readonly attributes: Readonly<Record<string, string>>;
};

export type PayoutScreening = PayoutKey & {
  readonly recipient: UserScreening;
  /** Of the attributes; those included that a person has cleared. */
  readonly hits: readonly Hit[];
  readonly isPassed: boolean;
};

/** The attribute that has the wallet's address, and elsewhere the number of an account. */
const accountField = 'BankAccountNumber';
const companyFields: ReadonlySet<string> = new Set(['BankName', 'EmploymentName']);
const triesMax = 3;

/** One result per payout, in their order. The session is the system's, outside any transaction. */
export async function screenPayouts(
  services: ScreeningServices,
  payouts: readonly PayoutToScreen[],
  options: ScreeningOptions = {},
): Promise<PayoutScreening[]> {
  const { session, keys } = services;
  const subjects = payouts.map((payout) => readSubject(payout));
  let lists = await readListsInForce(session);
  for (let tries = 1; ; tries += 1) {
    const recipients = await screenUsers(services, payouts, options);
    const found = await screenSubjects(session, subjects, options);
    const after = await readListsInForce(session);
    if (after.fingerprint.equals(lists.fingerprint) || tries === triesMax) {
      const judged = payouts.flatMap((payout, index): Judged[] => {
        const [recipient, hits = []] = [recipients[index], found[index]];
        if (recipient === undefined) return [];
        const subjectIndex = keys.blindIndex('payout screening', JSON.stringify(subjects[index]));
        return [{ payout, recipient, hits, subjectIndex, cleared: undefined }];
      });
      await addCleared(session, judged);
      // Under the older lists where they kept changing: those payouts are screened again.
      await write(session, { judged, lists, options });
      return judged.map(describe);
    }
    lists = after;
  }
}

/** What of a payout is compared with the lists besides its recipient. */
type Subject = { readonly names: readonly OtherName[]; readonly wallet: string };

function readSubject({ attributes, person }: PayoutToScreen): Subject {
  const own = new Set([nameKey(fullName(person)), nameKey(person.businessName), '']);
  const names = nameFields.flatMap((field): OtherName[] => {
    const text = completeName(field, attributes[field] ?? '', person);
    // The recipient's own names are screened with what else is known of the recipient.
    if (own.has(nameKey(text))) return [];
    return [{ field, text, isCompany: companyFields.has(field) || person.businessName !== '' }];
  });
  return { names, wallet: normalizeWallet(attributes[accountField] ?? '') };
}

function fullName({ firstName, middleName, lastName }: ScreenedPerson): string {
  return `${firstName} ${middleName} ${lastName}`;
}

/** Some attributes are a part of the recipient's name and tell nothing alone. */
function completeName(field: OtherName['field'], value: string, person: ScreenedPerson): string {
  if (value === '') return '';
  if (field === 'MaidenName') return `${person.firstName} ${person.middleName} ${value}`;
  if (field === 'SecondLastName') return `${fullName(person)} ${value}`;
  return value;
}

function nameKey(text: string): string {
  return readWords(text)
    .map((word) => word.text)
    .toSorted()
    .join(' ');
}

async function screenSubjects(
  session: Session,
  subjects: readonly Subject[],
  options: ScreeningOptions,
): Promise<Hit[][]> {
  const hits: Hit[][] = subjects.map(() => []);
  const named = subjects.flatMap(({ names }, index) =>
    names.length > 0 ? [{ names, index }] : [],
  );
  const screenings =
    named.length === 0 ? [] : await screenPersons(session, named.map(asPerson), options);
  for (const [place, { index }] of named.entries()) {
    hits[index]?.push(...(screenings[place]?.hits ?? []));
  }
  const wallets = new Set(subjects.map(({ wallet }) => wallet).filter((wallet) => wallet !== ''));
  if (wallets.size === 0) return hits;
  for (const row of await findListedWallets(session, [...wallets])) {
    for (const [index, { wallet }] of subjects.entries()) {
      if (wallet === row.wallet) hits[index]?.push(describeWallet(row));
    }
  }
  return hits;
}

function asPerson({ names }: Pick<Subject, 'names'>): ScreenedPerson {
  const nobody = { firstName: '', middleName: '', lastName: '', businessName: '' };
  return { ...nobody, dateOfBirth: '', countryCode: '', otherNames: names };
}

function describeWallet(row: WalletHitRow): Hit {
  return {
    list: row.list,
    entryId: row.entry_id,
    name: row.name,
    kind: row.kind,
    programmes: row.programmes,
    scorePermille: 1000,
    matchedOn: {
      field: 'wallet',
      listedName: row.text,
      quality: 'primary',
      dateOfBirth: 'unknown',
      country: 'unknown',
    },
  };
}

type Judged = {
  readonly payout: PayoutToScreen;
  readonly recipient: UserScreening;
  readonly hits: readonly Hit[];
  readonly subjectIndex: Buffer;
  cleared: ClearedRow | undefined;
};

/**
 * A name that a person cleared stays cleared for the recipient, as long as it resembles only what was
 * cleared and none of it more. A listed wallet is the listed one, so that it is cleared for its
 * payout alone.
 */
async function addCleared(session: Session, judged: readonly Judged[]): Promise<void> {
  const asked = judged.filter(({ hits }) => hits.length > 0);
  if (asked.length === 0) return;
  const keys = asked.map(({ payout, subjectIndex }) => ({ ...payout, subjectIndex }));
  for (const row of await readCleared(session, keys)) {
    const one = asked[row.ordinal - 1];
    if (one !== undefined && isCovered(one, row)) one.cleared = row;
  }
}

function isCovered({ payout, hits }: Judged, row: ClearedRow): boolean {
  const isOwn = row.payout_id === payout.payoutId;
  const cleared = new Map(row.hits.map((hit) => [nameHit(hit), hit.scorePermille]));
  return hits.every(
    (hit) =>
      (isOwn || hit.matchedOn.field !== 'wallet') &&
      hit.scorePermille <= (cleared.get(nameHit(hit)) ?? -1),
  );
}

function nameHit({ list, entryId, matchedOn }: Hit): string {
  return `${list} ${entryId} ${matchedOn.field}`;
}

function isPassed({ recipient, hits, cleared }: Judged): boolean {
  return !recipient.isBlocked && (hits.length === 0 || cleared !== undefined);
}

/** Rows of one account per statement: no transaction touches two. */
async function write(
  session: Session,
  given: { judged: readonly Judged[]; lists: ListsInForce; options: ScreeningOptions },
): Promise<void> {
  const { judged, lists, options } = given;
  const byAccount = new Map<string, Map<string, NewPayoutRow>>();
  for (const one of judged) {
    const { accountId, payoutId, userId } = one.payout;
    const rows = byAccount.get(accountId) ?? new Map<string, NewPayoutRow>();
    byAccount.set(accountId, rows);
    rows.set(payoutId, {
      payout_id: payoutId,
      user_id: userId,
      is_passed: isPassed(one),
      recipient_sequence: one.recipient.sequence,
      subject_index: one.subjectIndex.toString('hex'),
      hits: one.hits,
      cleared_by: one.cleared?.cleared_by ?? null,
      cleared_at: one.cleared?.cleared_at ?? null,
    });
  }
  const thresholdPermille = options.thresholdPermille ?? defaultThresholdPermille;
  const { fingerprint } = lists;
  for (const [accountId, rows] of byAccount) {
    const added = { accountId, fingerprint, thresholdPermille, rows: [...rows.values()] };
    await writePayoutRows(session, added);
  }
}

function describe(one: Judged): PayoutScreening {
  const { accountId, payoutId } = one.payout;
  return { accountId, payoutId, recipient: one.recipient, hits: one.hits, isPassed: isPassed(one) };
}

/** Whether the payout was screened and may be paid: nothing was found, or a person cleared it. */
export async function wasScreened(session: Session, payout: PayoutKey): Promise<boolean> {
  const [last] = await readPayoutHistory(session, payout, 1);
  return last?.is_passed === true;
}

/** All that was found and cleared for a payout, the newest first. */
export async function listPayoutScreenings(session: Session, payout: PayoutKey) {
  const rows = await readPayoutHistory(session, payout, 100);
  return rows.map((row) => ({
    sequence: row.sequence,
    isPassed: row.is_passed,
    recipientSequence: row.recipient_sequence,
    thresholdPermille: row.threshold_permille,
    hits: row.hits,
    screenedAtMs: row.screened_at.getTime(),
    clearedBy: row.cleared_by ?? undefined,
    clearedAtMs: row.cleared_at?.getTime(),
  }));
}

/** A person lets the payout go in spite of what was found; nothing happens where it has passed. */
export function clearPayout(session: Session, payout: PayoutKey, clearedBy: string): Promise<void> {
  return writeClearance(session, payout, clearedBy);
}
