import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { findUnsignedAuditHead, storeAuditCheckpoint } from '../audit/audit.ts';
import type { SigningKey } from '../core/environment-keys.ts';
import type { KeyRing } from '../core/sealing.ts';
import { isWholeLine } from '../core/signed-lines.ts';
import { makeFolder } from '../db/make-folder.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import {
  type Checkpoint,
  type CheckpointStatement,
  checkpointSchema,
  nilAccount,
  parseChainJson,
} from './chain.ts';
import {
  beginPass,
  endPass,
  type HeadRow,
  listAccountsAfter,
  listHeadsOf,
  listMovedHeads,
  lockCheckpoints,
  type NewCheckpoint,
  storeCheckpoints,
} from './checkpoints.sql.ts';

export { measureUnsigned } from './checkpoints.sql.ts';

/**
 * Signs the heads of the chains, so that access to the database is not enough to rewrite a chain: the
 * signing key is not in the database. Each checkpoint is appended to a file before it is stored.
 */

export type CheckpointServices = {
  db: Database;
  keys: Pick<KeyRing, 'signing'>;
  environment: string;
  /** JSON lines, one per checkpoint; "" for none. */
  file: string;
  realNowMs: () => number;
};

/** Signs what has moved since the last pass. Any number of processes may run it. */
export function signCheckpoints(services: CheckpointServices): Promise<void> {
  return services.db.systemTransaction(async (session) => {
    if (!(await lockCheckpoints(session))) return;
    const beganAt = await beginPass(session);
    const { signing } = services.keys;
    await signHeads(services, session, {
      signing,
      heads: await listMovedHeads(session, signing.id),
    });
    await signAuditHead(services, session, signing);
    await endPass(session, beganAt);
  });
}

/** Signs the heads of all accounts with the newest key, at a rotation, unless it has signed them. */
export async function signAllHeads(services: CheckpointServices): Promise<void> {
  for (let after = nilAccount; ; ) {
    const last = await services.db.systemTransaction(async (session) => {
      const { signing } = services.keys;
      const accounts = await listAccountsAfter(session, after, signedAtOnce);
      const heads = await listHeadsOf(session, accounts, signing.id);
      await signHeads(services, session, { signing, heads });
      if (accounts.length === 0) await signAuditHead(services, session, signing);
      return accounts.at(-1);
    });
    if (last === undefined) return;
    after = last;
  }
}

const signedAtOnce = 500;

/** Signs the heads of one account now, unless they are signed. */
export function signAccount(services: CheckpointServices, accountId: string): Promise<void> {
  return services.db.systemTransaction(
    async (session) => {
      const { signing } = services.keys;
      const heads = await listHeadsOf(session, [accountId], signing.id);
      await signHeads(services, session, { signing, heads });
    },
    { accountId },
  );
}

async function signHeads(
  services: CheckpointServices,
  session: Session,
  { signing, heads }: { signing: SigningKey; heads: readonly HeadRow[] },
): Promise<void> {
  if (heads.length === 0) return;
  const { environment, realNowMs } = services;
  const signedAt = new Date(realNowMs()).toISOString();
  const signed = heads.map((head): NewCheckpoint => {
    const content: CheckpointStatement = {
      environment,
      account_id: head.account_id,
      signed_at: signedAt,
      ledger: { place: head.ledger_place, hash: head.ledger_hash },
      events: { place: head.event_place, hash: head.event_hash },
    };
    const statement = JSON.stringify(content);
    return { ...head, statement, signature: signing.sign(Buffer.from(statement)) };
  });
  await keep(services, signing, signed);
  await storeCheckpoints(session, signed, signing.id);
}

async function signAuditHead(
  services: CheckpointServices,
  session: Session,
  signing: SigningKey,
): Promise<void> {
  const head = await findUnsignedAuditHead(session, signing.id);
  if (head === undefined) return;
  const { environment, realNowMs } = services;
  const none = { place: '0', hash: '' };
  const content: CheckpointStatement = {
    environment,
    account_id: nilAccount,
    signed_at: new Date(realNowMs()).toISOString(),
    ledger: none,
    events: none,
    audit: { place: head.sequence, hash: head.hash },
  };
  const statement = JSON.stringify(content);
  const signature = signing.sign(Buffer.from(statement));
  await keep(services, signing, [{ statement, signature }]);
  const { sequence } = head;
  await storeAuditCheckpoint(session, { sequence, statement, signature, keyId: signing.id });
}

/** Outside the database, before they are stored in it. */
async function keep(
  { file }: CheckpointServices,
  signing: SigningKey,
  signed: readonly { statement: string; signature: Buffer }[],
): Promise<void> {
  if (file === '') return;
  const lines = signed.map(({ statement, signature }): Checkpoint => {
    return { statement, signature: signature.toString('base64'), key_id: signing.id };
  });
  await append(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

async function append(path: string, text: string): Promise<void> {
  makeFolder(dirname(path));
  const file = await open(path, 'a+', 0o644);
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
    const isCut = size > 0 && buffer.toString() !== '\n';
    await file.writeFile(`${isCut ? '\n' : ''}${text}`);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The checkpoints of a file; none where there is no file. @throws ChainFileError for a damaged line. */
export function readCheckpoints(path: string): Checkpoint[] {
  return [...streamCheckpoints(path)];
}

/** The same, one after the other. */
export function* streamCheckpoints(path: string): Generator<Checkpoint> {
  if (!existsSync(path)) return;
  let number = 0;
  for (const line of readLines(path)) {
    number += 1;
    // A crash cut it while it was written, and the checkpoint was not stored.
    if (!isWholeLine(line)) continue;
    yield parseChainJson(line, checkpointSchema, `${path}: the checkpoint in line ${number}`);
  }
}

const chunkBytes = 65_536;

function* readLines(path: string): Generator<string> {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.alloc(chunkBytes);
    let rest = Buffer.alloc(0);
    for (;;) {
      const length = readSync(file, chunk);
      if (length === 0) break;
      const bytes = Buffer.concat([rest, chunk.subarray(0, length)]);
      const end = bytes.lastIndexOf('\n');
      rest = Buffer.from(bytes.subarray(end + 1));
      if (end >= 0) yield* bytes.toString('utf8', 0, end).split('\n');
    }
    if (rest.length > 0) yield rest.toString();
  } finally {
    closeSync(file);
  }
}
