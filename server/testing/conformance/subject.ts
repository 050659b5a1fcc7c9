import type { Instruction, RailModule } from '../../src/rails/contract/contract.ts';
import type { PayerDeclaration } from '../../src/rails/contract/declarations.ts';
import type { Address } from '../fault-proxy/fault-proxy.ts';

/**
 * What `testConformance` (conformance.ts) needs for a kind of rail: the module, and a counterparty
 * with a record of its own.
 */
export type ConformanceSubject<Config> = {
  readonly module: Pick<RailModule<Config>, 'kind' | 'reference' | 'configSchema' | 'create'>;
  /**
   * Called for every case, each time with an empty store: folder, key and account must be new, or as
   * good as new. A heavy counterparty (a node, a toolkit) is started once by the test file and shared,
   * because references never repeat.
   */
  openCounterparty(place: Place): Promise<Counterparty>;
  /**
   * `steered`: the suite's clock jumps to what is due next, hours and days ahead; the counterparty
   * gets the time by `advance`. `real`: real time, for counterparties with a clock of their own;
   * payments are queried every few milliseconds.
   */
  readonly clock: 'steered' | 'real';
  /**
   * Capabilities that the rail or its counterparty does not have, with a reason that the scorecard
   * shows. A capability that is missing without a reason fails, and so does one that is declared
   * missing and is there.
   */
  readonly unsupported?: Partial<Readonly<Record<Capability, string>>>;
  /**
   * Another configuration of a rail that has already passed: only its payments without faults are part
   * of the short form.
   */
  readonly isVariant?: boolean;
  /** Time-out of a call; the rail's `context.signal` is aborted then. 1500 if absent. */
  readonly callMsMax?: number;
  /** How long a payment may take to end, in real time. 60,000 if absent. */
  readonly timeoutMs?: number;
  /** How many cases run at the same time, 4 if absent: 1 where they share a slow counterparty. */
  readonly casesAtOnce?: number;
  /**
   * How many steps of a payment are crash points, from the first one; with `booking` known, at least
   * those up to it. 40 if absent.
   */
  readonly stepsMax?: number;
  /** How many exchanges of a payment get a fault, from the first one. 8 if absent. */
  readonly exchangesMax?: number;
  /**
   * Matches the request that books (Latin-1 text). Every kind of fault is injected into it, and one
   * kind in turn into each of the other exchanges. Without it every kind is injected into every
   * exchange.
   */
  readonly booking?: RegExp;
};

export type Capability =
  /** `Counterparty.address` is there: faults can be injected between rail and counterparty. */
  | 'connection'
  /** The connection is HTTP: an error status can replace an answer. */
  | 'http'
  /** The rail has `readCallback`, and the counterparty sends callbacks. */
  | 'callbacks'
  /** `Counterparty.files` is there: the counterparty reports in files. */
  | 'files'
  /** The counterparty can produce the outcomes `rejected` and `returned`. */
  | 'rejection'
  | 'return'
  /** The rail has `cancel`. */
  | 'cancellation'
  /** The rail knows when a reference was never sent. */
  | 'books'
  /** The rail writes or sends, so that there are steps at which a process can be killed. */
  | 'steps';

/** The outcome that the counterparty has to produce. */
export type ExpectedOutcome = 'paid' | 'rejected' | 'returned';

export type Place = {
  /** Where callbacks go, as in `RailHost.callbackUrl`; the same for all cases of one run. */
  readonly callbackUrl: string;
  /** The suite's clock. */
  nowMs(): number;
};

/** An instruction without what only the rail's own tests know. */
export type Draft = Omit<
  Instruction,
  'payerKey' | 'countryCode' | 'deliveryType' | 'currency' | 'amountMinor' | 'attributes'
>;

export type Counterparty = {
  /** Of the operator's configuration; absent where the rail does not use them. */
  readonly payers?: readonly PayerDeclaration[];
  /** Where it listens; undefined where rail and counterparty exchange files. */
  readonly address?: Address;
  /**
   * The input of `configSchema` for a rail whose counterparty is at `address` (usually of a proxy;
   * undefined when `Counterparty.address` is). Called for each instance of the rail; only the address
   * may differ.
   */
  config(address: Address | undefined): unknown;
  /**
   * A valid instruction, with a destination of its own where `payments` counts by destination. The
   * beneficiary is the draft's, because the suite searches for its texts.
   */
  instruct(draft: Draft, expectedOutcome: ExpectedOutcome): Instruction | Promise<Instruction>;
  /**
   * The amounts, in minor units, of all payments that the counterparty has made or may still make
   * under this instruction by its own record, including those returned later, without those that it
   * refused.
   */
  payments(instruction: Instruction): Promise<readonly bigint[]>;
  /**
   * One step of the counterparty: reads what was sent, mines a block, settles, sends callbacks. Called
   * in every round; payments reach their expected outcome within some tens of steps.
   */
  advance?(nowMs: number): Promise<void>;
  /**
   * Where it writes its files for the rail, and where the rail reads them: two folders of one file
   * system, between which the suite delivers. Names with a leading dot, and those that end in `.tmp` or
   * `.part`, are incomplete.
   */
  readonly files?: { readonly from: string; readonly to: string };
  close(): Promise<void>;
};
