import type { ListEntry, NameQuality } from './list-entry.ts';

/** What is asked, of which lists, and what is answered. */

/** Texts are "" where nothing is known; the date is YYYY-MM-DD, the country ISO 3166-1 alpha-3. */
export type ScreenedPerson = {
  readonly firstName: string;
  readonly middleName: string;
  readonly lastName: string;
  readonly businessName: string;
  readonly dateOfBirth: string;
  readonly countryCode: string;
  /** Further names under which the payment goes out, such as the holder of the account. */
  readonly otherNames?: readonly OtherName[];
};

export type OtherName = {
  readonly field: NameField;
  readonly text: string;
  /** Companies have digits in their names. */
  readonly isCompany: boolean;
};

/** Attributes that are names, or parts of one. */
export const nameFields = [
  'BankAccountName',
  'BankName',
  'MaidenName',
  'SecondLastName',
  'EmploymentName',
  'EmploymentSupervisor',
] as const;
export type NameField = (typeof nameFields)[number];

/** A version of a list that is in force. */
export type ListVersion = {
  readonly list: string;
  /** Counts the versions of the list here, from 1. */
  readonly sequence: number;
  readonly version: string;
  readonly importedAtMs: number;
  /** When its source was last read and found in order. */
  readonly checkedAtMs: number;
  readonly publishedAtMs: number | null;
  readonly entryCount: number;
  readonly nameCount: number;
  /** Which release of the parsers read it. */
  readonly reader: number;
};

export type ListsInForce = {
  readonly versions: readonly ListVersion[];
  /** Another one as soon as any list is in force in another version. */
  readonly fingerprint: Buffer;
};

/**
 * In place of a list: nothing resembles an entry, but the way in which a name is written asks for a
 * person. The entry is the reason, see `disguised-names.ts`.
 */
export const nameReview = 'name_review';

/** Everything in it is from the lists; nothing is from the person. */
export type Hit = {
  readonly list: string;
  readonly entryId: string;
  /** The name under which the list has the entry. */
  readonly name: string;
  readonly kind: ListEntry['kind'];
  readonly programmes: readonly string[];
  readonly scorePermille: number;
  /** Which name of the person resembles which name of the entry, and what else was compared. */
  readonly matchedOn: {
    readonly field: 'person_name' | 'business_name' | 'wallet' | NameField;
    /** Of a wallet: its currency and address as listed. */
    readonly listedName: string;
    readonly quality: NameQuality;
    readonly dateOfBirth: 'same' | 'near' | 'different' | 'unknown';
    readonly country: 'same' | 'different' | 'unknown';
  };
};
