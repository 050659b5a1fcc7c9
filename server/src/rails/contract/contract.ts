import type { z } from 'zod';
import type { CompanyDeclaration, CorridorDeclaration, PayerDeclaration } from './declarations.ts';
import type { RailHost } from './host.ts';
import type { CallbackMessage, CallbackReading } from './inbound.ts';
import type {
  Instruction,
  PayeeAnswer,
  RecipientDraft,
  RecipientFault,
  ReferenceRule,
} from './instruction.ts';
import type { RailAnswer, RecoveredPayment } from './outcomes.ts';
import type { PriceRules } from './price-rules.ts';
import type { RequirementsMemory } from './requirements.ts';

export type * from './host.ts';
export type * from './inbound.ts';
export type * from './instruction.ts';
export type * from './outcomes.ts';
export type * from './requirements.ts';

/**
 * What a rail is: a way to pay, with the calls that move money. A kind of rail is a folder beside this
 * one whose `rail.ts` exports a `railModule`; an operator configures any number of rails of a kind
 * (docs/guides/rails.md).
 *
 * The rules, which the conformance suite (server/testing/conformance) tests:
 * - One reference is one payment, forever: a second `send` of a reference never pays again.
 * - A rail does not throw to report an outcome. Whatever is not a definite answer (time-out, reset,
 *   5xx, an answer that does not parse or has a wrong echo) is `unknown`.
 * - Before money can leave, the rail has stored what lets it recognize the payment afterwards.
 * - Amount and destination are compared with the instruction again immediately before something
 *   is signed or written out.
 */

export type CallContext = {
  /** Aborted when the answer is no longer awaited; of a pass, also when its rail is stopped. */
  readonly signal: AbortSignal;
  /**
   * An operator has stopped the payment: `query` and `cancel` may then read and cancel, and neither
   * begin nor repeat an order. Where only a repetition would bring an answer, it is `unknown`.
   */
  readonly isStopped?: boolean;
};

/** An amount in units of the currency, as decimal text. */
export type RailFunds = {
  readonly currency: string;
  /** Negative where it is overdrawn. */
  readonly amount: string;
  /** When it was so, the environment's milliseconds; absent: when it was asked. */
  readonly asOfMs?: number;
};

/** What a counterparty asks for payments through one payer in one pair of currencies. */
export type RailPrice = {
  readonly payerKey: string;
  /** Of our balance at the counterparty, from which it pays. */
  readonly sourceCurrency: string;
  readonly destinationCurrency: string;
  /** Units of the destination for one of the source, decimal text, all-in; "1" within one currency. */
  readonly rate: string;
  /**
   * The counterparty's fee by amount, in units of the source; ascending, `upTo` null: no bound. From an
   * exact tariff, or fitted to quotes of several amounts and never below one of them.
   */
  readonly fee: readonly PriceStep[];
  /** Until when the counterparty promises it, the environment's milliseconds; undefined: no promise. */
  readonly holdsUntilMs?: number;
  /** From commit to arrival, seconds, where the counterparty estimates it. */
  readonly deliverySeconds?: number;
};

export type PriceStep = {
  /** Inclusive, in units of the source currency, decimal text. */
  readonly upTo: string | null;
  readonly fixed: string;
  readonly basisPoints: number;
};

/** How much load a rail's counterparty can take; an operator may configure less. */
export type Pace = {
  /** Concurrent calls of one process. */
  readonly concurrencyMax: number;
  /** Calls begun per second, of one process; null: unlimited. */
  readonly perSecondMax: number | null;
  /** After so many calls in a row without a definite answer the circuit breaker opens; 10 if absent. */
  readonly failuresMax?: number;
};

/** What a kind of rail implements. */
export type RailCalls = {
  send(instruction: Instruction, context: CallContext): Promise<RailAnswer>;
  /**
   * Every fault that keeps the rail from paying this recipient; called at the quote and at the commit,
   * and decided from the draft, the configuration and `RailHost.requirements` alone. What `send` would
   * refuse for its content is refused here first.
   */
  checkRecipient?(draft: RecipientDraft): readonly RecipientFault[];
  /**
   * Asks the counterparty whether the account belongs to the name (Verification of Payee). It moves
   * nothing and never throws: without an answer in a few seconds it is `not_possible`. Absent: the
   * counterparty cannot be asked.
   */
  checkPayee?(draft: RecipientDraft, context: CallContext): Promise<PayeeAnswer>;
  /** The state of the payment; of a reference never sent: `retry`, if that is certain. */
  query(instruction: Instruction, context: CallContext): Promise<RailAnswer>;
  /**
   * Stops a payment that has not left yet: `rejected` when it will certainly never be paid, else the
   * answer of `query`. Absent where the rail cannot cancel.
   */
  cancel?(instruction: Instruction, context: CallContext): Promise<RailAnswer>;
  /** Verifies the sender and reads the message. Callbacks may be repeated and out of order. */
  readCallback?(message: CallbackMessage): Promise<CallbackReading>;
  /**
   * A pass of background work: files to write or to fetch, transactions to build or to watch. One
   * process at a time is inside, under a lease; a process that was paused may continue after its
   * lease has expired, so what must happen once relies on `RailStore.write`. Returns when the next
   * pass makes sense, in the environment's milliseconds; undefined: in `workIdleMs`.
   */
  work?(context: CallContext): Promise<number | undefined>;
  /**
   * The chain of each currency that the rail pays on one, such as `bitcoin`; a chain without a common
   * name by its CAIP-2 identifier. The transaction hash is then the `providerReference`.
   */
  readonly networks?: Readonly<Record<string, string>>;
  /** Whether the rail needs `Instruction.screening`. */
  readonly usesScreening?: boolean;
  /** Whether the rail passes on `Originator.sender`. */
  readonly usesSender?: boolean;
  /** The longest pause between passes of `work`, milliseconds of real time. */
  readonly workIdleMs?: number;
  /** What is left to pay from at the counterparty. Absent: it cannot be asked. */
  readFunds?(context: CallContext): Promise<readonly RailFunds[]>;
  /**
   * What the counterparty asks now for each configured payer and currency that it quotes. The host asks
   * every few minutes and prices payouts with it; a payer without a fresh price is not offered. Absent:
   * tariffs in the configuration are the price.
   */
  readPrices?(context: CallContext): Promise<readonly RailPrice[]>;
  /** When the next file or window closes, the environment's milliseconds; undefined: none does. */
  findNextCutOff?(nowMs: number): number | undefined;
  /**
   * The payments since `sinceMs` (the environment's milliseconds) that the rail's counterparty, files
   * or chain show; called after a restore. It sends nothing, and may record what it learns so that no
   * such payment is sent again. Absent: the rail cannot list them.
   *
   * @throws Error with a sentence for the operator where it cannot list them now; it is called again.
   */
  recover?(sinceMs: number, context: CallContext): Promise<readonly RecoveredPayment[]>;
  /** The faults of the setup that a call to the counterparty shows; for `outlay admin doctor`. */
  check?(context: CallContext): Promise<readonly string[]>;
  /**
   * A sentence where counterparty, files or chain show payments that the rail has no record of, so that
   * the database must have been restored to an earlier moment; undefined: they show none. Called at
   * every start.
   */
  findUnknownPayments?(context: CallContext): Promise<string | undefined>;
  /**
   * Two persons have released recovery mode: what the counterparty shows up to now counts as known, and
   * sending begins again. @throws Error with a sentence for the operator where it is too early; it is
   * called again.
   */
  confirmRecovery?(context: CallContext): Promise<void>;
  close?(): Promise<void>;
};

export type Rail = RailCalls & {
  /** The operator's name for it: a to z, digits and _, at most 40. */
  readonly name: string;
  readonly kind: string;
  readonly reference: ReferenceRule;
  readonly pace: Pace;
  /** The amount that may leave in a day (UTC), minor units by currency; no entry: unlimited. */
  readonly dailyLimits: Readonly<Record<string, bigint>>;
  readonly companies: readonly CompanyDeclaration[];
  readonly payers: readonly PayerDeclaration[];
  /** What the counterparty asks for recipients, beyond what the service knows of a corridor. */
  readonly findRequirements?: RequirementsMemory['findAll'];
  /** When the counterparty last said it for a payer and currency, the environment's milliseconds. */
  readonly findRequirementsTime?: (payerKey: string, currency: string) => number | undefined;
  /** With `readPrices`; `defaultPriceRules` where absent. */
  readonly priceRules?: PriceRules;
  /** Whether another payer of this rail may use a reference that one payer refused. */
  readonly hasIndependentPayers?: boolean;
};

/**
 * Something that only one installation may use: an account that is reconciled with one ledger, a key
 * whose transactions are counted, a prefix of message ids, a folder.
 */
export type ExclusiveResource = {
  /** For the operator, such as `the balance account`. Holds no value. */
  readonly what: string;
} & (
  | {
      /** Compared as a keyed hash; may be a secret. */
      readonly value: string;
      /** The value names something of this machine, such as a loopback address. */
      readonly isLocal?: boolean;
    }
  | {
      /** The path of a folder, which is compared by what it is, not by its path. */
      readonly folder: string;
    }
);

/** A kind of rail. */
export type RailModule<Config = unknown> = {
  /** The folder's name. */
  readonly kind: string;
  /** One sentence for docs/rails.md. */
  readonly about: string;
  readonly corridors: readonly CorridorDeclaration[];
  readonly reference: ReferenceRule;
  readonly pace: Pace;
  /** Of `config` in the operator's file, with secrets replaced by their values. */
  readonly configSchema: z.ZodType<Config>;
  /**
   * What no second installation may use; for `outlay doctor --cells`.
   *
   * @throws Error with a sentence for the operator where the configuration cannot work.
   */
  listExclusives(
    config: Config,
  ): readonly ExclusiveResource[] | Promise<readonly ExclusiveResource[]>;
  /**
   * Why a payer can never be paid with the attributes that clients provide; none where it can. Called
   * at the start for every configured payer and each of its currencies; a fault stops the start.
   */
  checkPayer?(payer: PayerDeclaration, collected: CollectedAttributes): readonly string[];
  /** @throws Error with a sentence for the operator where the configuration cannot work. */
  create(config: Config, host: RailHost): Promise<RailCalls>;
};

/** The attributes of a destination in one currency. */
export type CollectedAttributes = {
  readonly currency: string;
  readonly attributes: readonly { readonly type: string; readonly isOptional: boolean }[];
  /** Example values of all of them, by type, that pass every check of the service. */
  readonly sample: Readonly<Record<string, string>>;
};
