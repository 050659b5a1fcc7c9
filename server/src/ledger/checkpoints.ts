import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { findUnsignedAuditHead, storeAuditCheckpoint } from '../audit/audit.ts';
import type { SigningKey } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import {
  findUnsignedHead,
  type HeadRow,
  listMovedHeads,
  lockCheckpoints,
  type NewCheckpoint,
  storeCheckpoints,
} from './chain.sql.ts';
import {
  type Checkpoint,
  type CheckpointStatement,
  checkpointSchema,
  nilAccount,
  parseChainJson,
} from './chain.ts';

export { measureUnsigned } from './chain.sql.ts';

/**
 * Signs the heads of the chains, so that access to the database is not enough to rewrite a chain: the
 * signing key is not in the database. Each checkpoint is appended to a file before it is stored.
 */

export type CheckpointServices = {
  db: Database;
  signing: SigningKey;
  environment: string;
  /** JSON lines, one per checkpoint; "" for none. */
  file: string;
  realNowMs: () => number;
};

/** Signs what has moved since the last checkpoints. Any number of processes may run it. */
export function signCheckpoints(services: CheckpointServices): Promise<void> {
  return services.db.systemTransaction(async (session) => {
    if (!(await lockCheckpoints(session))) return;
    await signHeads(services, session, await listMovedHeads(session));
    await signAuditHead(services, session);
  });
}

/** Signs the heads of one account now, unless they are signed. */
export function signAccount(services: CheckpointServices, accountId: string): Promise<void> {
  return services.db.systemTransaction(
    async (session) => {
      const head = await findUnsignedHead(session, accountId);
      if (head !== undefined) await signHeads(services, session, [head]);
    },
    { accountId },
  );
}

async function signHeads(
  services: CheckpointServices,
  session: Session,
  heads: readonly HeadRow[],
): Promise<void> {
  if (heads.length === 0) return;
  const { signing, environment, realNowMs } = services;
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
  await keep(services, signed);
  await storeCheckpoints(session, signed, signing.id);
}

async function signAuditHead(services: CheckpointServices, session: Session): Promise<void> {
  const head = await findUnsignedAuditHead(session);
  if (head === undefined) return;
  const { signing, environment, realNowMs } = services;
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
  await keep(services, [{ statement, signature }]);
  const { sequence } = head;
  await storeAuditCheckpoint(session, { sequence, statement, signature, keyId: signing.id });
}

/** Outside the database, before they are stored in it. */
async function keep(
  { file, signing }: CheckpointServices,
  signed: readonly { statement: string; signature: Buffer }[],
): Promise<void> {
  if (file === '') return;
  const lines = signed.map(({ statement, signature }): Checkpoint => {
    return { statement, signature: signature.toString('base64'), key_id: signing.id };
  });
  await append(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

async function append(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, 'a', 0o644);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The checkpoints of a file; none where there is no file. @throws ChainFileError for a damaged line. */
export function readCheckpoints(path: string): Checkpoint[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line !== '')
    .map(({ line, number }) =>
      parseChainJson(line, checkpointSchema, `${path}: the checkpoint in line ${number}`),
    );
}
