import type { z } from 'zod';
import type {
  CompanyDeclaration,
  CorridorDeclaration,
  DeliveryType,
  PayerDeclaration,
} from './declarations.ts';
import type { Reason } from './reasons.ts';

/**
 * What a rail is: a way to pay, with the calls that move money. A rail knows neither the database
 * nor the HTTP server: what it has to remember and what it is told reach it through its `RailHost`.
 * A kind of rail is a folder beside this file whose `rail.ts` exports a `railModule`; an operator
 * configures any number of rails of a kind (docs/guides/rails.md).
 *
 * The rules, which `conformance.ts` tests:
 * - One reference is one payment, for ever: a second `send` of a reference never pays again.
 * - A rail does not throw to say what became of money. Whatever is not a definite answer (time out,
 *   reset, 5xx, what cannot be parsed, a wrong echo) is `unknown`.
 * - Before money can leave, the rail has stored what lets it recognise the payment afterwards.
 * - Amount and destination are compared with the instruction once more at the last moment before
 *   something is signed or written out.
 */

/** What a rail is asked to pay. Amounts are minor units of `currency`. */
export type Instruction = {
  /** A function of the payout, never of the attempt, in the form that `ReferenceRule` allows. */
  readonly reference: string;
  readonly payerKey: string;
  /** ISO 3166-1 alpha-3: where the money goes. */
  readonly countryCode: string;
  readonly deliveryType: DeliveryType;
  readonly currency: string;
  readonly amountMinor: bigint;
  /** Attribute type to value. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly beneficiary: Beneficiary;
  readonly originator: Originator;
  readonly pickupCode: string;
  /** `clear`: recipient and originator were screened without a potential match; absent: `not_screened`. */
  readonly screening?: 'clear' | 'not_screened';
  /** The environment's time of the commit and of the announced arrival, milliseconds. */
  readonly committedAtMs: number;
  readonly availableAtMs: number;
};

/** Texts are "" where nothing is known. */
export type Beneficiary = {
  readonly firstName: string;
  readonly middleName: string;
  readonly lastName: string;
  readonly businessName: string;
  readonly address1: string;
  readonly address2: string;
  readonly city: string;
  readonly stateProvince: string;
  readonly postalCode: string;
  /** ISO 3166-1 alpha-3. */
  readonly countryCode: string;
  readonly email: string;
  /** Digits only. */
  readonly mobileNumber: string;
  /** YYYY-MM-DD. */
  readonly dateOfBirth: string;
};

/** On whose behalf is paid: the client account of Outlay. */
export type Originator = { readonly accountId: string; readonly name: string };

/** Money that the rail itself took for a payment, or for its return. */
export type Charge = {
  /** The same charge reported again has the same one; unique within the payment. */
  readonly id: string;
  readonly kind: 'network' | 'bank' | 'partner';
  readonly currency: string;
  /** Minor units, positive. */
  readonly amountMinor: bigint;
};

type AnswerExtras = {
  /** The rail's own name for the payment (a transaction id, a partner's number); never personal. */
  readonly providerReference?: string;
  readonly charges?: readonly Charge[];
  /** For a person who looks into it: the rail's own code, such as AC04 or R03; never personal. */
  readonly code?: string;
  /**
   * With `retry` or `unknown`: for so long the counterpart asks to be left alone (Retry-After); no
   * call of this rail begins before, within fifteen minutes.
   */
  readonly retryAfterMs?: number;
};

/**
 * What a rail says. `retry` only when it is certain that nothing was sent, and (from a query) that
 * nothing sent earlier can still arrive. `rejected` is definite: it never was and never will be
 * paid under this reference. `checkAtMs` is when asking again makes sense; the amount of `returned` is
 * all that came back so far (absent: the whole), while each `RailObservation` is a part by itself: a
 * rail that reports parts as observations answers `paid` to a query. The amount of `paid` is what was
 * paid, where the counterpart says so; another one than instructed asks a person.
 */
export type RailAnswer = AnswerExtras &
  (
    | { readonly outcome: 'accepted'; readonly checkAtMs?: number }
    | { readonly outcome: 'ready_for_pickup'; readonly checkAtMs?: number }
    | { readonly outcome: 'paid'; readonly checkAtMs?: number; readonly amountMinor?: bigint }
    | { readonly outcome: 'rejected'; readonly reason: Reason }
    | { readonly outcome: 'returned'; readonly reason: Reason; readonly amountMinor?: bigint }
    | { readonly outcome: 'retry'; readonly reason: Reason; readonly checkAtMs?: number }
    | { readonly outcome: 'unknown'; readonly reason: Reason }
  );

/** What a rail hears without having asked: from a callback, a file, or its own pass. */
export type RailObservation = AnswerExtras & {
  /** Unique within the rail: the same thing told again has the same one and counts once. */
  readonly id: string;
  readonly reference: string;
  readonly outcome: 'accepted' | 'ready_for_pickup' | 'paid' | 'rejected' | 'returned';
  /** Why; undefined where all is well. */
  readonly reason?: Reason;
  /** What came back, or was paid, in minor units of the payment's currency; undefined: all of it. */
  readonly amountMinor?: bigint;
  /** When it happened by the rail's account, milliseconds. */
  readonly atMs: number;
};

/** Something heard as a whole: kept as it came, once, before anything follows from it. */
export type InboundMessage = {
  /** Unique within the rail; a second message of the same one is only counted. */
  readonly id: string;
  readonly channel: 'callback' | 'file' | 'poll';
  readonly raw: Uint8Array;
  readonly observations: readonly RailObservation[];
  /** Parts of the message that could not be turned into observations; none when absent. */
  readonly problems?: readonly InboundProblem[];
};

/**
 * A part of an inbound message that the rail cannot apply. It opens an exception for an operator, in
 * the transaction that stores the message.
 */
export type InboundProblem = {
  /** Unique within the rail; the same problem reported again opens nothing new. */
  readonly id: string;
  /**
   * `unreadable`: the bytes are not of a format that the rail reads. `not_understood`: they are, and
   * carry a status or an entry that the rail has no meaning for. `unmatched`: money or a status of a
   * payment that cannot be identified.
   */
  readonly kind: 'unreadable' | 'not_understood' | 'unmatched';
  /** For an operator: file name, position, codes and references; never personal. */
  readonly detail: string;
  /** With `amountMinor`, where the part is about money. */
  readonly currency?: string;
  /** Minor units of `currency`, positive. */
  readonly amountMinor?: bigint;
};

export type CallbackMessage = {
  readonly method: string;
  /** After `/rails/<name>`, beginning with a slash, or "". */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

/** `refused`: not proven to come from the partner (401); `malformed`: from it, and senseless (400). */
export type CallbackReading =
  | { readonly kind: 'refused'; readonly detail: string }
  | {
      readonly kind: 'malformed';
      readonly detail: string;
      /** What is kept of it nevertheless, with the problem that asks an operator. */
      readonly message?: InboundMessage;
    }
  | {
      readonly kind: 'accepted';
      readonly message: InboundMessage;
      /** What the partner is answered; 200 without a body when absent. */
      readonly answer?: {
        readonly status: number;
        readonly headers: Readonly<Record<string, string>>;
        readonly body: string;
      };
    };

/** The form of the references that a rail can carry to its counterpart unchanged. */
export type ReferenceRule = { readonly lengthMax: number; readonly charset: RegExp };

/** A payment before it is ordered. `attributes` is undefined while the client has stored none. */
export type RecipientDraft = Pick<
  Instruction,
  'payerKey' | 'countryCode' | 'deliveryType' | 'currency' | 'amountMinor' | 'beneficiary'
> & { readonly attributes: Instruction['attributes'] | undefined };

export type RecipientFault = {
  /** The attribute type (`SWIFT`), the member of the user (`city`), or `amount`. */
  readonly field: string;
  readonly code: 'missing' | 'invalid' | 'amount_refused' | 'not_served';
  /** For the client; never repeats the value. */
  readonly detail: string;
};

export type CallContext = {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
};

/** How much of a rail's counterpart may be asked for; an operator may say less. */
export type Pace = {
  /** Calls at the same moment, of one process. */
  readonly concurrencyMax: number;
  /** Calls begun per second, of one process; null: as many as there are. */
  readonly perSecondMax: number | null;
  /** So many calls without a clear answer in a row, and it is left alone for a while; usually 10. */
  readonly failuresMax?: number;
};

/** What differs from kind to kind. */
export type RailCalls = {
  send(instruction: Instruction, context: CallContext): Promise<RailAnswer>;
  /**
   * What keeps the rail from ever paying this recipient, with every fault; asked at the quote and at
   * the commit, and answered from the draft and the configuration alone. What `send` would refuse for
   * its content is refused here first.
   */
  checkRecipient?(draft: RecipientDraft): readonly RecipientFault[];
  /** Where the payment stands, or stood; of a reference never sent: `retry`, if that is certain. */
  query(instruction: Instruction, context: CallContext): Promise<RailAnswer>;
  /**
   * Stops a payment that has not left yet: `rejected` when it is certain never to be paid, else
   * what `query` would say. Absent where the rail has no such thing.
   */
  cancel?(instruction: Instruction, context: CallContext): Promise<RailAnswer>;
  /** Proves who speaks, and reads what is said. It may be told the same again, and out of order. */
  readCallback?(message: CallbackMessage): Promise<CallbackReading>;
  /**
   * A pass over what lies ready: files to write or to fetch, transactions to build or to watch. One
   * process at a time is inside; after a crash another one begins while the first may yet wake up,
   * so that what must happen once rests on `RailStore.write`. Answers when the next pass makes
   * sense, in the environment's milliseconds; undefined: in `workIdleMs`.
   */
  work?(context: CallContext): Promise<number | undefined>;
  /** Whether `Instruction.screening` is looked up for it. */
  readonly usesScreening?: boolean;
  /** Of `work`: how long to wait where nothing wakes it; milliseconds of real time. */
  readonly workIdleMs?: number;
  /**
   * What the rail did since `sinceMs` (the environment's milliseconds) according to the world outside
   * of the database: its counterpart, its files, its chain; asked after a restore. It sends nothing;
   * what it learns it may remember, so that no such payment is sent again. Absent: it cannot say.
   *
   * @throws Error with a sentence for the operator where it cannot list them; it is called again.
   */
  recover?(sinceMs: number, context: CallContext): Promise<readonly RecoveredPayment[]>;
  /** What is wrong with the setup, as far as asking the counterpart shows; for `outlay doctor`. */
  check?(context: CallContext): Promise<readonly string[]>;
  /**
   * A sentence where the world outside of the database shows payments that the rail does not remember,
   * so that the database must have been restored to an earlier moment; undefined: it shows none. Asked
   * at every start.
   */
  findUnknownPayments?(context: CallContext): Promise<string | undefined>;
  /**
   * Two persons have released the recovery: what the counterpart shows up to now counts as known, and
   * sending begins again. @throws Error with a sentence for the operator where it is too early; it is
   * called again.
   */
  confirmRecovery?(context: CallContext): Promise<void>;
  close?(): Promise<void>;
};

/** A payment that left through a rail, as its counterpart or its own files show it. */
export type RecoveredPayment = {
  /** As the counterpart has it; "" where it carries none. */
  readonly reference: string;
  readonly payerKey?: string;
  /** ISO 3166-1 alpha-3. */
  readonly countryCode?: string;
  readonly currency: string;
  /** Minor units. */
  readonly amountMinor: bigint;
  readonly outcome: RailObservation['outcome'] | 'unknown';
  readonly providerReference?: string;
  /** An address on a chain, where there is no reference. */
  readonly destination?: string;
  readonly atMs: number;
  /** For an operator: file, position, block; never personal. */
  readonly detail: string;
};

export type Rail = RailCalls & {
  /** The operator's name for it: a to z, digits and _, at most 40. */
  readonly name: string;
  readonly kind: string;
  readonly reference: ReferenceRule;
  readonly pace: Pace;
  /** In a day (UTC) at most so much leaves, minor units by currency; no entry: no bound. */
  readonly dailyLimits: Readonly<Record<string, bigint>>;
  readonly companies: readonly CompanyDeclaration[];
  readonly payers: readonly PayerDeclaration[];
  /** Whether one payer's refusal leaves the same reference open to another payer of this rail. */
  readonly hasIndependentPayers?: boolean;
};

/** A kind of rail. */
export type RailModule<Config = unknown> = {
  /** The folder's name. */
  readonly kind: string;
  /** One sentence for docs/rails.md. */
  readonly about: string;
  readonly corridors: readonly CorridorDeclaration[];
  readonly reference: ReferenceRule;
  readonly pace: Pace;
  /** Of `config` in the operator's file. Secrets are there already as their values. */
  readonly configSchema: z.ZodType<Config>;
  /**
   * Why a payer can never be paid with the attributes that clients are asked for; none where it can.
   * Called at the start for every configured payer and each of its currencies; a fault stops it.
   */
  checkPayer?(payer: PayerDeclaration, collected: CollectedAttributes): readonly string[];
  /** @throws Error with a sentence for the operator where it cannot work like this. */
  create(config: Config, host: RailHost): Promise<RailCalls>;
};

/** What clients are asked for a destination in one currency. */
export type CollectedAttributes = {
  readonly currency: string;
  readonly attributes: readonly { readonly type: string; readonly isOptional: boolean }[];
  /** Made-up values of all of them, by type, that pass every check of the service. */
  readonly sample: Readonly<Record<string, string>>;
};

/** What a rail has of the service. */
export type RailHost = {
  /** The rail's own name. */
  readonly name: string;
  readonly payers: readonly PayerDeclaration[];
  /** Types of the attributes that recipients of the payer are asked for, in the currency. */
  listAttributes?(payer: PayerDeclaration, currency: string): readonly string[];
  /** The environment's clock, which in staging may be ahead. */
  nowMs(): number;
  /** The time of day by this machine's clock, for what counterparts compare with theirs. */
  realNowMs(): number;
  readonly store: RailStore;
  readonly fetch: typeof fetch;
  /** Where the counterpart sends callbacks: this rail's base address, without a final slash. */
  readonly callbackUrl: string;
  /** Returns when the message is kept for ever; `known` when it was before. */
  receive(message: InboundMessage): Promise<'new' | 'known'>;
  /**
   * How many observations of this rail wait to be applied, plus its open exceptions about inbound
   * messages. A rail settles nothing by the calendar unless this is 0.
   */
  countUnresolvedInbound(): Promise<number>;
  /** Asks for a pass of `work` soon. */
  wake(): void;
  /** A line in the log. Fields are numbers, references and codes; never anything of a person. */
  log(level: 'info' | 'warn' | 'error', message: string, fields?: LogFields): void;
};
export type LogFields = Readonly<Record<string, string | number>>;

/**
 * What a rail remembers, durable and sealed at rest. Keys and states are in the clear, so that they
 * hold references, numbers and codes only. There are no transactions to hold open: a write names
 * the revision it saw of every record, and all of it happens or nothing.
 */
export type RailStore = {
  get(collection: string, key: string): Promise<StoredRecord | undefined>;
  /** In the order of their keys (code points), those after `after`. */
  list(collection: string, query: StoreQuery): Promise<readonly StoredRecord[]>;
  /** False, and nothing written, where a record is not at its revision any more. */
  write(changes: readonly RecordChange[]): Promise<boolean>;
};

export type StoreQuery = {
  readonly state?: string;
  readonly after?: string;
  readonly count: number;
};

export type StoredRecord = {
  readonly key: string;
  /** Which of a collection's stages the record is in; `list` finds by it. */
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
};
