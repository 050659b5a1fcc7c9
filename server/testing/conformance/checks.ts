import { findCurrency } from '../../src/core/currency.ts';
import type {
  Charge,
  InboundMessage,
  Instruction,
  RailAnswer,
  RailHost,
  RailObservation,
} from '../../src/rails/contract/contract.ts';
import { reasonTexts } from '../../src/rails/contract/reasons.ts';

/** What must hold for every output of a rail, in every case. */

export type Checks = {
  /** Rules of the documented form that answers and observations broke. */
  readonly form: ReadonlySet<string>;
  /** Places in which personal data was found. */
  readonly leaks: ReadonlySet<string>;
  /** How many outputs were checked. */
  readonly count: number;
  /** From now on no personal data of this instruction may occur anywhere. */
  watch(instruction: Instruction): void;
  /** `answer` is whatever the rail returned. */
  readAnswer(instruction: Instruction, answer: unknown, nowMs: number): void;
  readMessage(message: InboundMessage, channel: InboundMessage['channel'] | undefined): void;
  readText(where: string, text: string): void;
  /** The rail threw where it must not. */
  addThrown(where: string, error: unknown): void;
  addForm(sentence: string): void;
};

const answerKeys: Readonly<Record<RailAnswer['outcome'], readonly string[]>> = {
  accepted: ['checkAtMs'],
  ready_for_pickup: ['checkAtMs'],
  paid: ['checkAtMs', 'amountMinor'],
  rejected: ['reason'],
  returned: ['reason', 'amountMinor'],
  retry: ['reason', 'checkAtMs', 'retryAfterMs'],
  unknown: ['reason', 'retryAfterMs'],
};
const extraKeys = ['outcome', 'providerReference', 'charges', 'code'];
const needReason: ReadonlySet<string> = new Set(['rejected', 'returned', 'retry', 'unknown']);
const chargeKinds: ReadonlySet<string> = new Set(['network', 'bank', 'partner']);
const yearMs = 366 * 24 * 3_600_000;
/** Before every environment's time, and above every time in seconds. */
const timeMsMin = Date.UTC(2020, 0, 1);

export function createChecks(): Checks {
  const form = new Set<string>();
  const leaks = new Set<string>();
  const personal = new Set<string>();
  let count = 0;
  const readText = (where: string, text: string): void => {
    count += 1;
    const plain = normalize(text);
    for (const value of personal) {
      if (plain.includes(value)) leaks.add(`${where} holds personal data`);
    }
  };
  const addForm = (sentence: string): void => {
    form.add(sentence);
  };
  const reader = createReader({
    addForm,
    readText,
    countWord: () => {
      count += 1;
    },
  });
  return {
    form,
    leaks,
    get count() {
      return count;
    },
    addForm,
    readText,
    ...reader,
    watch: (instruction) => {
      for (const value of listPersonalTexts(instruction)) personal.add(normalize(value));
    },
    addThrown: (where, error) => {
      addForm(`${where} must not throw (${error instanceof Error ? error.name : typeof error})`);
      if (error instanceof Error) readText(`the error of ${where}`, error.message);
    },
  };
}

/** Checks answers and messages, also against earlier ones with the same id. */
function createReader({
  addForm,
  readText,
  countWord,
}: Pick<Checks, 'addForm' | 'readText'> & { countWord(): void }): Pick<
  Checks,
  'readAnswer' | 'readMessage'
> {
  const seen = new Map<string, string>();
  const keepSame = (key: string, now: string, sentence: string): void => {
    if ((seen.get(key) ?? now) !== now) addForm(sentence);
    seen.set(key, now);
  };
  const readExtras = (said: Said, reference: string): void => {
    for (const name of ['providerReference', 'code'] as const) {
      const value = said[name];
      if (value === undefined) continue;
      if (typeof value !== 'string' || value === '' || value.length > 200) {
        addForm(`${name} must be a text of 1 to 200 characters`);
      } else {
        readText(name, value);
      }
    }
    for (const charge of said.charges ?? []) {
      for (const fault of findChargeFaults(charge)) addForm(fault);
      readText('the id of a charge', charge.id);
      const { id, kind, currency, amountMinor } = charge;
      const now = `${kind} ${currency} ${amountMinor}`;
      keepSame(`charge ${reference} ${id}`, now, 'a repeated charge must be the same charge');
    }
  };
  return {
    readAnswer: (instruction, answer, nowMs) => {
      countWord();
      const said = answer as Said | null | undefined;
      for (const fault of findAnswerFaults(said, nowMs)) addForm(fault);
      if (said !== null && typeof said === 'object') readExtras(said, instruction.reference);
    },
    readMessage: (message, channel) => {
      readText('the id of a message', message.id);
      for (const fault of findMessageFaults(message, channel)) addForm(fault);
      for (const observation of message.observations) {
        const { id, reference, outcome } = observation;
        readText('the id of an observation', id);
        for (const fault of findObservationFaults(observation)) addForm(fault);
        readExtras(observation, reference);
        const now = `${reference} ${outcome}`;
        keepSame(`observation ${id}`, now, 'observations with the same id must be the same');
      }
    },
  };
}

/** The same host, checking everything that is stored or logged in the clear. */
export function watchHost(host: RailHost, checks: Checks): RailHost {
  return {
    ...host,
    store: {
      ...host.store,
      write: (changes) => {
        for (const { collection, key, next } of changes) {
          checks.readText('a key of the store', `${collection} ${key}`);
          if (next !== undefined) checks.readText('a state of the store', next.state);
        }
        return host.store.write(changes);
      },
    },
    receive: (message) => {
      checks.readMessage(message, undefined);
      return host.receive(message);
    },
    log: (level, message, fields = {}) => {
      checks.readText('a line of the log', message);
      for (const [name, value] of Object.entries(fields)) {
        checks.readText('a field of the log', `${name} ${value}`);
      }
      host.log(level, message, fields);
    },
  };
}

type Said = {
  readonly outcome?: unknown;
  readonly reason?: unknown;
  readonly amountMinor?: unknown;
  readonly checkAtMs?: unknown;
  readonly providerReference?: unknown;
  readonly code?: unknown;
  readonly charges?: readonly Charge[];
};

function findAnswerFaults(said: Said | null | undefined, nowMs: number): readonly string[] {
  if (said === null || typeof said !== 'object') return ['an answer must be an object'];
  const outcome = String(said.outcome) as RailAnswer['outcome'];
  if (!Object.hasOwn(answerKeys, outcome)) return [`${outcome} is not an outcome`];
  const faults: string[] = [];
  const known = new Set([...extraKeys, ...answerKeys[outcome]]);
  for (const key of Object.keys(said)) {
    if (!known.has(key)) faults.push(`${outcome} must not have ${key}`);
  }
  if (needReason.has(outcome) && !isReason(said.reason))
    faults.push(`${outcome} must have a reason of the vocabulary`);
  if (!isAmountOrNothing(said.amountMinor)) faults.push('an amount must be a positive bigint');
  const { checkAtMs } = said;
  if (checkAtMs !== undefined && !isTimeMs(checkAtMs, nowMs + yearMs)) {
    faults.push('checkAtMs must be a time in milliseconds, at most a year ahead');
  }
  return faults;
}

function findMessageFaults(
  message: InboundMessage,
  channel: InboundMessage['channel'] | undefined,
): readonly string[] {
  const faults: string[] = [];
  if (message.id === '') faults.push('a message must have an id');
  if (!(message.raw instanceof Uint8Array)) faults.push('a message must have its bytes');
  if (channel !== undefined && message.channel !== channel) {
    faults.push(`the channel of a message must be ${channel}`);
  }
  const ids = message.observations.map(({ id }) => id);
  if (new Set(ids).size < ids.length)
    faults.push('observations of one message must have different ids');
  return faults;
}

function findObservationFaults(observation: RailObservation): readonly string[] {
  const { id, reference, outcome, reason, amountMinor, atMs } = observation;
  const faults: string[] = [];
  if (id === '') faults.push('an observation must have an id');
  if (reference === '') faults.push('an observation must have a reference');
  if (!['accepted', 'ready_for_pickup', 'paid', 'rejected', 'returned'].includes(outcome)) {
    faults.push(`${outcome} is not an outcome of an observation`);
  }
  if (reason === undefined ? needReason.has(outcome) : !isReason(reason)) {
    faults.push(`an observation of ${outcome} must have a reason of the vocabulary`);
  }
  if (!isAmountOrNothing(amountMinor)) faults.push('an observed amount must be a positive bigint');
  if (!isTimeMs(atMs, Number.MAX_SAFE_INTEGER)) faults.push('atMs must be a time in milliseconds');
  return faults;
}

function findChargeFaults(charge: Charge): readonly string[] {
  const faults: string[] = [];
  if (charge.id === '') faults.push('a charge must have an id');
  if (!chargeKinds.has(charge.kind)) faults.push('a charge must have a kind');
  if (findCurrency(charge.currency) === undefined)
    faults.push('a charge must have a known currency');
  if (typeof charge.amountMinor !== 'bigint' || charge.amountMinor <= 0n) {
    faults.push('a charge must be a positive bigint');
  }
  return faults;
}

function isReason(value: unknown): boolean {
  return typeof value === 'string' && Object.hasOwn(reasonTexts, value);
}

function isAmountOrNothing(value: unknown): boolean {
  return value === undefined || (typeof value === 'bigint' && value > 0n);
}

function isTimeMs(value: unknown, max: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= timeMsMin && Number(value) <= max;
}

/** Personal texts: names, addresses, and values with digits such as account numbers. */
function listPersonalTexts(instruction: Instruction): readonly string[] {
  const { countryCode: _country, ...person } = instruction.beneficiary;
  const accounts = Object.values(instruction.attributes).filter(
    (value) => value.length >= 7 && /\d/.test(value),
  );
  return [...Object.values(person), instruction.pickupCode, ...accounts].filter(
    (value) => normalize(value).length >= 4,
  );
}

function normalize(text: string): string {
  return text.toLowerCase().replace(/\s/g, '');
}
