import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { findBic } from './bank-identifiers.ts';
import { sealEvidence } from './evidence.ts';
import {
  describeEntry,
  entryVersionOf,
  type Hit,
  type HitEvidence,
  nameFields,
  type OtherName,
  type ScreenedPerson,
} from './hit.ts';
import { bankCode } from './list-entry.ts';
import { readWords } from './names.ts';
import { findBlockedPlaces, listPlaces, type Place } from './payout-places.ts';
import {
  type ClearedRow,
  findListedWallets,
  type NewPayoutRow,
  type PayoutKey,
  readCleared,
  readPayoutHistory,
  type WalletHitRow,
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
import { bankKey, normalizeWallet } from './wallets.ts';

/**
 * Screens payouts: the recipient, the names in the attributes (the account's holder becomes the
 * creditor of a bank transfer), and the wallet. The result is stored with each payout.
 */

export type PayoutToScreen = UserToScreen & {
  readonly payoutId: string;
  /** Where it is delivered, alpha-3. */
  readonly destinationCountry: string;
  /** Attribute type to value. */
  readonly attributes: Readonly<Record<string, string>>;
};

export type PayoutScreening = PayoutKey & {
  readonly recipient: UserScreening;
  /** Hits of the attributes, including those that a person has cleared. */
  readonly hits: readonly Hit[];
  readonly isPassed: boolean;
};

/** The attribute with the wallet's address; for other delivery types the number of an account. */
const accountField = 'BankAccountNumber';
const companyFields: ReadonlySet<string> = new Set(['BankName', 'EmploymentName']);
const triesMax = 3;

/** One result per payout, in their order. The session is the system's, outside a transaction. */
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
    const found = await screenSubjects(session, { subjects, lists }, options);
    const after = await readListsInForce(session);
    if (after.fingerprint.equals(lists.fingerprint) || tries === triesMax) {
      const screened = payouts.flatMap((payout, index): ScreenedSubject[] => {
        const [recipient, subject] = [recipients[index], found[index]];
        if (recipient === undefined || subject === undefined) return [];
        const subjectIndex = indexPayoutSubject(keys, payout);
        return [{ payout, recipient, ...subject, subjectIndex, cleared: undefined }];
      });
      await addCleared(session, screened);
      // If the lists kept changing, the older fingerprint is stored, and these payouts are
      // screened again.
      await write(services, { screened, lists, options });
      return screened.map(describe);
    }
    lists = after;
  }
}

/** The data of a payout that is compared with the lists besides its recipient. */
type Subject = {
  readonly names: readonly OtherName[];
  readonly wallet: string;
  /** As `bankKey` writes them. */
  readonly banks: readonly string[];
  readonly places: readonly Place[];
};

/** Attributes that may hold a BIC. */
const bankFields = ['BankRoutingNumber', 'SWIFT'] as const;

/** A hash that shows only whether the compared data is still the same. */
export function indexPayoutSubject(
  keys: Pick<KeyRing, 'blindIndex'>,
  payout: PayoutToScreen,
): Buffer {
  return keys.blindIndex('payout screening', JSON.stringify(readSubject(payout)));
}

function readSubject({ attributes, person, destinationCountry }: PayoutToScreen): Subject {
  const own = new Set([nameKey(fullName(person)), nameKey(person.businessName), '']);
  const names = nameFields.flatMap((field): OtherName[] => {
    const text = completeName(field, attributes[field] ?? '', person);
    // The recipient's own names are screened with the recipient's other data.
    if (own.has(nameKey(text))) return [];
    return [{ field, text, isCompany: companyFields.has(field) || person.businessName !== '' }];
  });
  const accountNumber = attributes[accountField] ?? '';
  const bankCodes = bankFields.flatMap((field) => findBic(attributes[field] ?? '') ?? []);
  const recipientCountry = person.countryCode;
  return {
    names,
    wallet: normalizeWallet(accountNumber),
    banks: [...new Set(bankCodes.map(bankKey))],
    places: listPlaces({ destinationCountry, recipientCountry, accountNumber, bankCodes }),
  };
}

function fullName({ firstName, middleName, lastName }: ScreenedPerson): string {
  return `${firstName} ${middleName} ${lastName}`;
}

/** Some attributes are a part of the recipient's name and cannot be compared alone. */
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

type FoundHits = { readonly hits: Hit[]; readonly evidence: HitEvidence[] };

async function screenSubjects(
  session: Session,
  { subjects, lists }: { subjects: readonly Subject[]; lists: ListsInForce },
  options: ScreeningOptions,
): Promise<FoundHits[]> {
  const found: FoundHits[] = subjects.map(() => ({ hits: [], evidence: [] }));
  const named = subjects.flatMap(({ names }, index) =>
    names.length > 0 ? [{ names, index }] : [],
  );
  const screenings =
    named.length === 0 ? [] : await screenPersons(session, named.map(toPerson), options);
  for (const [place, { index }] of named.entries()) {
    found[index]?.hits.push(...(screenings[place]?.hits ?? []));
    found[index]?.evidence.push(...(screenings[place]?.evidence ?? []));
  }
  await addIdentified(session, { subjects, lists }, found);
  const blocked = new Set(options.blockedCountries);
  for (const [index, { places }] of subjects.entries()) {
    found[index]?.hits.push(...findBlockedPlaces(places, blocked));
  }
  return found;
}

/** Wallets and banks that a list identifies. */
async function addIdentified(
  session: Session,
  { subjects, lists }: { subjects: readonly Subject[]; lists: ListsInForce },
  found: readonly FoundHits[],
): Promise<void> {
  const keysOf = ({ wallet, banks }: Subject) => (wallet === '' ? banks : [wallet, ...banks]);
  const wanted = new Set(subjects.flatMap(keysOf));
  if (wanted.size === 0) return;
  for (const row of await findListedWallets(session, [...wanted])) {
    for (const [index, subject] of subjects.entries()) {
      if (!keysOf(subject).includes(row.wallet)) continue;
      const version = lists.versions.find(({ list }) => list === row.list)?.version;
      const hit = { ...describeWallet(row), ...(version === undefined ? {} : { version }) };
      found[index]?.hits.push(hit);
      const { list, entryId } = hit;
      const { field } = hit.matchedOn;
      const compared = { list, entryId, field, text: row.wallet, words: [], measures: {} };
      found[index]?.evidence.push(compared);
    }
  }
}

function toPerson({ names }: Pick<Subject, 'names'>): ScreenedPerson {
  const noName = { firstName: '', middleName: '', lastName: '', businessName: '' };
  return { ...noName, dateOfBirth: '', countryCode: '', otherNames: names };
}

function describeWallet(row: WalletHitRow): Hit {
  return {
    ...describeEntry(row),
    scorePermille: 1000,
    matchedOn: {
      field: row.text.startsWith(`${bankCode} `) ? 'bank_code' : 'wallet',
      listedName: row.text,
      quality: 'primary',
      dateOfBirth: 'unknown',
      country: 'unknown',
    },
  };
}

type ScreenedSubject = {
  readonly payout: PayoutToScreen;
  readonly recipient: UserScreening;
  readonly hits: readonly Hit[];
  readonly evidence: readonly HitEvidence[];
  readonly subjectIndex: Buffer;
  cleared: ClearedRow | undefined;
};

/**
 * A name that a person cleared stays cleared for the recipient while all its hits are among the
 * cleared ones, and their entries have not changed. The address of a wallet identifies it, so a wallet is cleared
 * for its payout only.
 */
async function addCleared(session: Session, screened: readonly ScreenedSubject[]): Promise<void> {
  const withHits = screened.filter(({ hits }) => hits.length > 0);
  if (withHits.length === 0) return;
  const keys = withHits.map(({ payout, subjectIndex }) => ({ ...payout, subjectIndex }));
  for (const row of await readCleared(session, keys)) {
    const subject = withHits[row.ordinal - 1];
    if (subject !== undefined && isCovered(subject, row)) subject.cleared = row;
  }
}

/** These identify exactly one party, so they are cleared for their payout only. */
const exactFields: ReadonlySet<string> = new Set(['wallet', 'bank_code', 'country']);

function isCovered({ payout, hits }: ScreenedSubject, row: ClearedRow): boolean {
  const isOwn = row.payout_id === payout.payoutId;
  const cleared = new Set(row.hits.map(nameHit));
  return hits.every(
    (hit) => (isOwn || !exactFields.has(hit.matchedOn.field)) && cleared.has(nameHit(hit)),
  );
}

const nameHit = (hit: Hit): string => `${entryVersionOf(hit)} ${hit.matchedOn.field}`;

function isPassed({ recipient, hits, cleared }: ScreenedSubject): boolean {
  return !recipient.isBlocked && (hits.length === 0 || cleared !== undefined);
}

/** One statement per account, because a transaction must touch only one. */
async function write(
  services: ScreeningServices,
  given: { screened: readonly ScreenedSubject[]; lists: ListsInForce; options: ScreeningOptions },
): Promise<void> {
  const { screened, lists, options } = given;
  const { session } = services;
  const owned = screened.map(({ payout, evidence }) => ({ ...payout, evidence }));
  const sealed = await sealEvidence(services, owned);
  const byAccount = new Map<string, Map<string, NewPayoutRow>>();
  for (const [index, one] of screened.entries()) {
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
      evidence: sealed[index]?.toString('hex') ?? null,
    });
  }
  const thresholdPermille = options.thresholdPermille ?? defaultThresholdPermille;
  const { fingerprint } = lists;
  for (const [accountId, rows] of byAccount) {
    const added = { accountId, fingerprint, thresholdPermille, rows: [...rows.values()] };
    await writePayoutRows(session, added);
  }
}

function describe(one: ScreenedSubject): PayoutScreening {
  const { accountId, payoutId } = one.payout;
  return { accountId, payoutId, recipient: one.recipient, hits: one.hits, isPassed: isPassed(one) };
}

/** Whether the payout was screened without hits, or a person cleared them. */
export async function wasScreened(session: Session, payout: PayoutKey): Promise<boolean> {
  const [last] = await readPayoutHistory(session, payout, 1);
  return last?.is_passed === true;
}

/** All results and clearances of a payout, newest first. */
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
