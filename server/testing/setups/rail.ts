import { randomBytes } from 'node:crypto';
import { createKeyRing, type KeyRing } from '../../src/core/sealing.ts';
import { connectDatabase, type Database } from '../../src/db/postgres/pool.ts';
import type {
  InboundMessage,
  InboundProblem,
  LogFields,
  RailHost,
  RailObservation,
} from '../../src/rails/contract/contract.ts';
import type { PayerDeclaration } from '../../src/rails/contract/declarations.ts';
import { createHost } from '../../src/rails/host/host.ts';
import { createRequirements, type Requirements } from '../../src/rails/host/requirements.ts';
import { createTestDatabase, patientLimits } from './database.ts';
import { readRows } from './read-rows.ts';

/** A host for tests of rails: the service's own, on a real database, with what passes it collected. */

export type TestHost = RailHost & {
  /** The new inbound messages, in order; `observations` are those of all of them. */
  readonly messages: InboundMessage[];
  readonly observations: RailObservation[];
  /** Problems of those messages. */
  readonly problems: InboundProblem[];
  readonly lines: { level: string; message: string; fields: LogFields }[];
  readonly wakes: { count: number };
  /** What the memory of the host is a part of, so that a test can refresh it. */
  readonly allRequirements: Requirements;
  readonly db: Database;
  readonly keys: KeyRing;
  /** What an operator does about inbound problems: closes all exceptions. */
  closeExceptions(): Promise<void>;
  /** What the erasure of a recipient leaves of the records about a payment (`empty_rail_copies`). */
  eraseRecipient(reference: string): Promise<void>;
  /** A second host of the same rail on the same memory, as another process would have. */
  again(): TestHost;
  close(): Promise<void>;
};

const applyText = {
  name: '',
  text: `update rail_observations set state = 'applied' where rail = $1 and state = 'waiting'`,
};

const closeText = {
  name: '',
  text: `
    update exceptions set closed_at = now(), resolution = 'dismissed by ada'
    where rail = $1 and closed_at is null`,
};

const eraseText = {
  name: '',
  text: `
    update rail_records set sealed = '', revision = revision + 1
    where rail = $1 and reference = $2 and length(sealed) > 0`,
};

export type TestHostOptions = {
  name: string;
  payers?: readonly PayerDeclaration[];
  listAttributes?: RailHost['listAttributes'];
  /** The real time when absent. */
  nowMs?: () => number;
  /** The real time when absent. */
  realNowMs?: () => number;
  fetch?: typeof fetch;
  callbackUrl?: string;
};

/** The database and the keys under one or more hosts. */
export type HostGround = {
  readonly db: Database;
  readonly keys: KeyRing;
  close(): Promise<void>;
};

const connectionsUsual = 4;

export async function openHostGround(connectionsMax = connectionsUsual): Promise<HostGround> {
  const database = await createTestDatabase();
  const db = connectDatabase({ ...database, connectionsMax, limits: patientLimits });
  const insert = `insert into environment (name, master_key_id) values ('staging', 'test')`;
  await readRows(db.system, { name: '', text: insert });
  const close = async (): Promise<void> => {
    await db.close();
    await database.drop();
  };
  return { db, keys: createKeyRing(randomBytes(32)), close };
}

/** Hosts of different names may share their ground, which its opener then closes. */
export async function openTestHost(
  options: TestHostOptions,
  shared?: HostGround,
): Promise<TestHost> {
  if (shared !== undefined) return assemble(options, { ...shared, close: async () => undefined });
  return assemble(options, await openHostGround());
}

function assemble(options: TestHostOptions, base: HostGround): TestHost {
  const { name, payers = [] } = options;
  const messages: InboundMessage[] = [];
  const observations: RailObservation[] = [];
  const problems: InboundProblem[] = [];
  const lines: TestHost['lines'] = [];
  const wakes = { count: 0 };
  const requirements = createRequirements({
    db: base.db,
    realNowMs: options.realNowMs ?? Date.now,
    log: (level, message, fields) => lines.push({ level, message, fields }),
  });
  const host = createHost({
    name,
    payers,
    listAttributes: options.listAttributes,
    requirements: requirements.memoryOf(name),
    db: base.db,
    keys: base.keys,
    nowMs: options.nowMs ?? Date.now,
    realNowMs: options.realNowMs ?? Date.now,
    fetch: options.fetch ?? fetch,
    callbackUrl: options.callbackUrl ?? `http://127.0.0.1/rails/${name}`,
    wake: () => {
      wakes.count += 1;
    },
    onInboundMessage: () => undefined,
    log: (level, message, fields) => lines.push({ level, message, fields }),
  });
  return {
    ...host,
    allRequirements: requirements,
    receive: async (message) => {
      const answer = await host.receive(message);
      if (answer === 'new') {
        messages.push(message);
        observations.push(...message.observations);
        problems.push(...(message.problems ?? []));
        // No dispatcher runs here that would apply them.
        if (message.observations.length > 0) await readRows(base.db.system, applyText, [name]);
      }
      return answer;
    },
    messages,
    observations,
    problems,
    lines,
    wakes,
    db: base.db,
    keys: base.keys,
    closeExceptions: async () => {
      await readRows(base.db.system, closeText, [name]);
    },
    eraseRecipient: async (reference) => {
      await readRows(base.db.system, eraseText, [name, reference]);
    },
    again: () => assemble(options, base),
    close: base.close,
  };
}
