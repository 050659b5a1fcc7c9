/**
 * What counterparties ask for the account of a recipient. A rail reads it, the host keeps its versions,
 * and clients are asked for it as attributes of the destination.
 */

export type RequiredField = {
  /** The counterparty's name of the field. */
  readonly key: string;
  /**
   * The attribute type that fills it. Undefined: clients are not asked, because it is filled from the
   * user or from the configuration, or because the rail has no source of it.
   */
  readonly attribute?: string | undefined;
  /** Whether the counterparty gets the attribute without its spaces and hyphens. */
  readonly isCompact: boolean;
  /** Plain text of the counterparty, at most 100 characters. */
  readonly label: string;
  readonly input: 'text' | 'options' | 'date';
  readonly isRequired: boolean;
  /** Whether other fields depend on its value. */
  readonly isRefreshing: boolean;
  readonly lengthMin?: number | undefined;
  readonly lengthMax?: number | undefined;
  /** As the counterparty wrote it: a part of the value must match. Used by way of `kit/patterns.ts` only. */
  readonly pattern?: string | undefined;
  /** Of `options`; compared without regard to case. */
  readonly choices?: readonly RequiredChoice[] | undefined;
};

export type RequiredChoice = { readonly value: string; readonly label: string };

/** One of the forms that an account may have, by the counterparty's name of its type. */
export type AccountForm = { readonly type: string; readonly fields: readonly RequiredField[] };

export type RequirementsKey = {
  readonly payerKey: string;
  readonly currency: string;
  /**
   * The values of fields under which the counterparty asks for this; {}: before any is known. Codes of
   * closed lists (countries, types, banks) only, because they are stored in the clear.
   */
  readonly given: Readonly<Record<string, string>>;
};

export type RecipientRequirements = RequirementsKey & {
  /** One of them must be complete. Clients are asked for the first. */
  readonly forms: readonly AccountForm[];
};

export type StoredRequirements = RecipientRequirements & {
  /** Counts the changes of any form of the payer and currency. */
  readonly version: number;
  /** The environment's time when the counterparty last answered so, milliseconds. */
  readonly readAtMs: number;
};

/** Everything that is known of a payer and currency; never changed. */
export type PayerRequirements = {
  /** The newest version of any of its forms. */
  readonly version: number;
  /** The requirements before any value is known come first, where they were read. */
  readonly variants: readonly StoredRequirements[];
};

/** The requirements of a rail: read from memory, and kept in the database for all processes. */
export type RequirementsMemory = {
  find(key: RequirementsKey): StoredRequirements | undefined;
  findAll(payerKey: string, currency: string): PayerRequirements | undefined;
  /**
   * Says that requirements are in use, so that the rail reads them in its passes, in whichever process.
   * It never throws; true where it was stored, which is done once a day.
   */
  want(key: RequirementsKey): Promise<boolean>;
  /** Those that were wanted in the last 90 days, the ones that were never read first. */
  listWanted(): Promise<readonly RequirementsKey[]>;
  /**
   * Stores what the counterparty answered. A change is a new version, which the log tells.
   *
   * @throws Error where a form has no permitted form; nothing is stored then.
   */
  keep(read: readonly RecipientRequirements[]): Promise<void>;
};
