import { z } from 'zod';
import { entryKinds, nameQualities } from './list-entry.ts';

/** The subjects of screening, the lists that they are compared with, and the results. */

/** Unknown texts are ""; the date is YYYY-MM-DD, the country ISO 3166-1 alpha-3. */
export type ScreenedPerson = {
  readonly firstName: string;
  readonly middleName: string;
  readonly lastName: string;
  readonly businessName: string;
  readonly dateOfBirth: string;
  readonly countryCode: string;
  /** Further names in the payment, such as the holder of the account. */
  readonly otherNames?: readonly OtherName[];
};

export type OtherName = {
  readonly field: NameField;
  readonly text: string;
  /** Names of companies may contain digits. */
  readonly isCompany: boolean;
};

/** Attributes that hold a name or part of one. */
export const nameFields = [
  'BankAccountName',
  'BankName',
  'MaidenName',
  'SecondLastName',
  'EmploymentName',
  'EmploymentSupervisor',
] as const;
export type NameField = (typeof nameFields)[number];

/** The version of a list that is in force. */
export const listVersion = z.object({
  list: z.string(),
  /** Counts the versions of the list in this database, from 1. */
  sequence: z.int(),
  version: z.string(),
  importedAtMs: z.int(),
  /** When its source was last read without errors. */
  checkedAtMs: z.int(),
  publishedAtMs: z.int().nullable(),
  entryCount: z.int(),
  nameCount: z.int(),
  /** The version of the parser that read it. */
  reader: z.int(),
});
export type ListVersion = Readonly<z.infer<typeof listVersion>>;

export type ListsInForce = {
  readonly versions: readonly ListVersion[];
  /** Changes whenever another version of any list comes into force. */
  readonly fingerprint: Buffer;
};

/**
 * Stands for a list in hits that no entry caused: the spelling of a name needs a review. The entry
 * is the reason, see `obfuscated-names.ts`.
 */
export const nameReview = 'name_review';

/** Holds data of the lists only, and none of the person. */
export const hit = z.object({
  list: z.string(),
  /** The version of the list; absent where no list caused the hit. */
  version: z.string().optional(),
  entryId: z.string(),
  /** Changes with the content of the entry, so that what a person cleared is bound to what it said. */
  entryHash: z.string().optional(),
  /** The primary name of the entry. */
  name: z.string(),
  kind: z.enum(entryKinds),
  programmes: z.array(z.string()),
  scorePermille: z.int(),
  /** Which name of the person resembles which name of the entry, and what else was compared. */
  matchedOn: z.object({
    field: z.enum([
      'person_name',
      'business_name',
      'wallet',
      'bank_code',
      'country',
      ...nameFields,
    ]),
    /** Of a wallet: its currency and address as listed. */
    listedName: z.string(),
    quality: z.enum(nameQualities),
    dateOfBirth: z.enum(['same', 'near', 'different', 'unknown']),
    country: z.enum(['same', 'different', 'unknown']),
  }),
});
export type Hit = Readonly<z.infer<typeof hit>>;

/**
 * What was compared for a hit, with the names of the person: sealed where it is stored. The rest is in
 * the hit itself (list, version, entry, listed name, date of birth and country).
 */
export const hitEvidence = z.object({
  list: z.string(),
  entryId: z.string(),
  field: z.string(),
  /** The name, or the wallet, as it was compared. */
  text: z.string(),
  /** The words that matched, as both sides were read, and their similarity in thousandths. */
  words: z.array(
    z.object({ searched: z.string(), listed: z.string(), similarityPermille: z.int() }),
  ),
  /** What the score follows from, in thousandths; see `name-features.ts`. */
  measures: z.record(z.string(), z.int()),
});
export type HitEvidence = Readonly<z.infer<typeof hitEvidence>>;

/** What a hit says of the entry, from its row. */
export function describeEntry(
  row: Pick<Hit, 'list' | 'name' | 'kind' | 'programmes'> & {
    readonly entry_id: string;
    readonly content_hash: Buffer;
  },
): Pick<Hit, 'list' | 'entryId' | 'entryHash' | 'name' | 'kind' | 'programmes'> {
  const { list, entry_id: entryId, content_hash: hash, name, kind, programmes } = row;
  return { list, entryId, entryHash: hash.toString('hex'), name, kind, programmes };
}

/** A hit as a decision names it: the entry with its content. */
export function entryVersionOf({
  list,
  entryId,
  entryHash = '',
}: Pick<Hit, 'list' | 'entryId' | 'entryHash'>): string {
  return `${list} ${entryId} ${entryHash}`;
}
