import type { Instruction, RailModule } from '../../src/rails/contract/contract.ts';
import type { PayerDeclaration } from '../../src/rails/contract/declarations.ts';
import type { Address } from '../fault-proxy/fault-proxy.ts';

/**
 * What `testConformance` (conformance.ts) has to be given for a kind of rail: the module itself, and
 * a counterparty that it did not write itself into, which is the judge.
 */
export type ConformanceSubject<Config> = {
  readonly module: Pick<RailModule<Config>, 'kind' | 'reference' | 'configSchema' | 'create'>;
  /**
   * Called for every case, each time with a new, empty store: everything that it answers is fresh
   * (folder, key, account), or as good as fresh. What is heavy (a node, a toolkit) is started once
   * by the test file and shared: references never repeat.
   */
  openCounterparty(place: Place): Promise<Counterparty>;
  /**
   * `steered`: the suite's clock jumps to whatever is due next, hours and days ahead; the
   * counterparty is told the time by `turn`. `real`: it goes with the real time, for counterparties
   * that have a clock of their own, and everything is asked about every few milliseconds.
   */
  readonly clock: 'steered' | 'real';
  /**
   * What this kind of rail or its counterparty does not have, with a sentence that says why; the
   * scorecard shows it. What is missing without a reason fails, and so does what is there and
   * declared missing.
   */
  readonly unsupported?: Partial<Readonly<Record<Capability, string>>>;
  /** How long an answer is waited for; the rail's `context.signal` is aborted then. 1500 if absent. */
  readonly callMsMax?: number;
  /** How long, in real time, a payment may take to end. Generous: 60,000 if absent. */
  readonly timeoutMs?: number;
  /**
   * How many steps of a flow die, are interrupted or fail, from its first one; with `booking` known,
   * those up to it in any case. 40 if absent.
   */
  readonly stepsMax?: number;
  /** How many exchanges of a flow are injected, from its first one. 8 if absent. */
  readonly exchangesMax?: number;
  /**
   * Recognises the request that books (Latin-1 text), where an exchange is one. Every kind of fault
   * is then done to it, and the other exchanges get one kind each, in turn. Without it every kind is
   * done to every exchange.
   */
  readonly booking?: RegExp;
};

export type Capability =
  /** `Counterparty.address` is there: fault can be done between the rail and the counterparty. */
  | 'connection'
  /** What is spoken on the connection is HTTP: errors of servers can be put in an answer's place. */
  | 'http'
  /** The rail has `readCallback`, and the counterparty calls it. */
  | 'callbacks'
  /** `Counterparty.files` is there: the counterparty tells what happened in files. */
  | 'files'
  /** Payments with the expectedOutcome `rejected`, and `returned`. */
  | 'rejection'
  | 'return'
  /** The rail has `cancel`. */
  | 'cancellation'
  /** It is possible to tell that a reference was never sent. */
  | 'books'
  /** It writes, says or sends anything, so that there are steps at which a process can die. */
  | 'steps';

/** How the counterparty is to end a payment. */
export type ExpectedOutcome = 'paid' | 'rejected' | 'returned';

export type Place = {
  /** Where callbacks go, as in `RailHost.callbackUrl`; the same for all cases of one run. */
  readonly callbackUrl: string;
  /** The suite's clock. */
  nowMs(): number;
};

/** An instruction but for what only the rail's own tests can know. */
export type Draft = Omit<
  Instruction,
  'payerKey' | 'countryCode' | 'deliveryType' | 'currency' | 'amountMinor' | 'attributes'
>;

export type Counterparty = {
  /** Of the operator's configuration; none where the rail does not look at them. */
  readonly payers?: readonly PayerDeclaration[];
  /** Where it listens; undefined where rail and counterparty meet in files. */
  readonly address?: Address;
  /**
   * What `configSchema` reads, for a rail that finds its counterparty at `address` (a proxy's, most
   * of the time; undefined when `Counterparty.address` is). Called for each instance of the rail: the
   * same but for the address.
   */
  config(address: Address | undefined): unknown;
  /**
   * A valid instruction, with a destination of its own where the judge counts by destination. The
   * beneficiary is the draft's, for its texts are what the suite looks for where they must not be.
   */
  instruct(draft: Draft, expectedOutcome: ExpectedOutcome): Instruction | Promise<Instruction>;
  /**
   * The judge: the amounts, in minor units, of all payments that the counterparty has made or may yet
   * make under this instruction by its own records, also of those that came back later. What it
   * refused is not among them.
   */
  payments(instruction: Instruction): Promise<readonly bigint[]>;
  /**
   * One step of its processRun: reads what was sent, mines a block, settles, answers, calls back. Called
   * over and over; the payments come to the end that is their expectedOutcome within some tens of turns.
   */
  advance?(nowMs: number): Promise<void>;
  /**
   * Where it leaves its files for the rail, and where the rail looks for them: two folders of one
   * file system between which the suite is the fileCourier. Names with a leading dot, and those that
   * end in `.tmp` or `.part`, are not complete yet.
   */
  readonly files?: { readonly from: string; readonly to: string };
  close(): Promise<void>;
};
