import type { PayerDeclaration } from './declarations.ts';
import type { InboundMessage } from './inbound.ts';
import type { RequirementsMemory } from './requirements.ts';

/** What a rail has of the service. It knows neither the database nor the HTTP server. */
export type RailHost = {
  /** The rail's own name. */
  readonly name: string;
  readonly payers: readonly PayerDeclaration[];
  /** Types of the attributes that a recipient of the payer must or may have, in the currency. */
  listAttributes?(payer: PayerDeclaration, currency: string): readonly string[];
  /** The environment's clock; in staging a virtual clock that may be ahead. */
  nowMs(): number;
  /** Real time, for what counterparties compare with their clocks. */
  realNowMs(): number;
  readonly store: RailStore;
  /** What the counterparty asks for recipients. Absent: nothing is kept, as in a check of the setup. */
  readonly requirements?: RequirementsMemory;
  readonly fetch: typeof fetch;
  /** Where the counterparty sends callbacks: this rail's base address, without a final slash. */
  readonly callbackUrl: string;
  /** Returns when the message is stored forever; `known` when it was stored before. */
  receive(message: InboundMessage): Promise<'new' | 'known'>;
  /**
   * How many observations of this rail are not applied yet, plus its open exceptions about inbound
   * messages. A rail settles nothing by the calendar unless this is 0.
   */
  countUnresolvedInbound(): Promise<number>;
  /** Asks for a pass of `work` soon. */
  wake(): void;
  /** A log line. Fields are numbers, references and codes; never personal. */
  log(level: 'info' | 'warn' | 'error', message: string, fields?: LogFields): void;
};
export type LogFields = Readonly<Record<string, string | number>>;

/**
 * A rail's records, durable and sealed at rest. Keys and states are in the clear, so they must hold
 * references, numbers and codes only. There are no transactions to hold open: a write names the
 * revision that it saw of every record, and is done as a whole or not at all.
 */
export type RailStore = {
  get(collection: string, key: string): Promise<StoredRecord | undefined>;
  /** Whether an erasure has emptied the record (`RecordChange.reference`), which then stays as it is. */
  isErased(collection: string, key: string): Promise<boolean>;
  /** In the order of their keys (code points), those after `after`. */
  list(collection: string, query: StoreQuery): Promise<readonly StoredRecord[]>;
  /** False, and nothing written, where a record no longer has its revision. */
  write(changes: readonly RecordChange[]): Promise<boolean>;
};

export type StoreQuery = {
  readonly state?: string;
  readonly after?: string;
  readonly count: number;
};

export type StoredRecord = {
  readonly key: string;
  /** `list` can select by it. */
  readonly state: string;
  /** 1 for a new record, one more with each write. */
  readonly revision: number;
  /** As JSON gives it back: no bigint, no undefined, no Date. */
  readonly value: unknown;
};

export type RecordChange = {
  readonly collection: string;
  readonly key: string;
  /** The revision that was seen; 0: there is no such record yet. */
  readonly revision: number;
  /** What the record becomes; undefined removes it. */
  readonly next: { readonly state: string; readonly value: unknown } | undefined;
  /**
   * Of a new record that tells of the recipient of one payment: the reference of the payment. The record
   * is sealed under the key of that person. When the person's data is erased, so is the record: it is not
   * found, and its key stays taken.
   */
  readonly reference?: string;
};
