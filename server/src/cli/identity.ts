import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../config.ts';
import { formatToken } from '../core/ids.ts';
import { takePage } from '../db/time-page.ts';
import { listFindings, readAgain } from '../kyc/checks.ts';
import { writeFindings } from '../kyc/checks-view.ts';
import {
  decideIdentity,
  identityDecisions,
  listDecisions,
  listPending,
  openImages,
  recipientReasons,
} from '../kyc/decisions.ts';
import { getSessions, statusAt } from '../kyc/kyc.ts';
import { defineCommand, RowPage } from './command.ts';
import {
  account,
  atMost,
  folder,
  idCursor,
  identifier,
  longLimit,
  needsAnother,
  oneOf,
  reason,
  user,
} from './options.ts';
import { getUserKey } from './user-key.ts';

const rowsMax = 1000;

const listCommand = defineCommand({
  name: 'identity list',
  permission: 'read',
  about: 'list verifications that wait for a decision, newest first',
  options: {
    account: account.optional(),
    limit: longLimit.optional(),
    cursor: idCursor.optional(),
  },
  run: async ({ db }, { account: accountId, limit: count = 1000, cursor: before }) => {
    const found = await listPending(db.system, { accountId, before, rowsMax: count + 1 });
    const { rows, next } = takePage(found, count, ({ id }) => id);
    const described = rows.map(({ account_id: of, id, user_id: userId, ...row }) => ({
      account: of,
      user_token: formatToken('user', userId),
      session_id: id,
      ...row,
    }));
    return new RowPage(described, next);
  },
});

const showCommand = defineCommand({
  name: 'identity show',
  permission: 'read',
  about: "show a user's sessions, the history of decisions and what was read from the images",
  options: { user },
  run: async (context, { user: userId }) => {
    const { db, keys, clock } = context;
    const key = await getUserKey(context, userId);
    const sessions = await getSessions(context, { ...key, before: undefined, rowsMax });
    const decisions = await listDecisions({ sql: db.system, keys }, key);
    const now = new Date(clock.nowMs());
    const findings = await listFindings({ sql: db.system, keys }, { ...key, now });
    return {
      account: key.accountId,
      sessions: sessions.map((session) => ({
        session_id: session.id,
        status: statusAt(session, now),
        submission: session.submission,
        created_at: session.createdAt,
        updated_at: session.updatedAt,
        expires_at: session.expiresAt,
      })),
      decisions: decisions.map((decision) => ({
        decided_at: decision.decidedAt,
        decided_by: decision.decidedBy,
        decision: decision.decision,
        reason: decision.reason,
        is_effective: decision.isEffective,
        session_id: decision.sessionId,
        submission: decision.submission,
        credential: decision.credentialId ?? '',
      })),
      findings: findings.map(writeFindings),
    };
  },
});

const decideCommand = defineCommand({
  name: 'identity decide',
  resultNames: ['session_id', 'status'],
  permission: 'comply',
  about: "decide about a user's verification",
  options: {
    user,
    session: identifier('verification session that was looked at'),
    submission: atMost('upload that was looked at; a later one is not decided', 1_000_000),
    decision: oneOf('decision', identityDecisions),
    reason,
    recipientReason: oneOf('what the page tells the recipient', recipientReasons).optional(),
  },
  run: async (context, { user: userId, session: sessionId, ...values }) => {
    const { db, keys } = context;
    const given = {
      ...(await getUserKey(context, userId)),
      ...values,
      decidedBy: context.operator.name,
      sessionId,
      credentialId: undefined,
    };
    // A client's connection cannot approve in live.
    const { result, session } = await db.systemTransaction((sql) =>
      decideIdentity({ sql, keys }, given),
    );
    const needs = result === 'waiting' ? { needs: needsAnother } : {};
    return { result, ...needs, session_id: session.id, status: session.status };
  },
});

const exportCommand = defineCommand({
  name: 'identity export',
  resultNames: ['session_id', 'submission'],
  permission: 'comply',
  about: 'write the images of a verification for the reviewer',
  options: { user, folder },
  run: async (context, { user: userId, folder: path }) => {
    const key = await getUserKey(context, userId);
    const { session, images } = await openImages(
      { sql: context.db.system, keys: context.keys },
      key,
    );
    const { id, submission } = session;
    const files = images.map(({ type, bytes }) => ({
      file: join(path, `${id}-${submission}-${type}.jpg`),
      bytes,
    }));
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      for (const { file, bytes } of files) writeFileSync(file, bytes, { mode: 0o600, flag: 'wx' });
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause);
      throw new ConfigError(`the images cannot be written: ${detail}`, { cause });
    }
    return { session_id: id, submission, files: files.map(({ file }) => file) };
  },
});

const readCommand = defineCommand({
  name: 'identity read',
  permission: 'comply',
  about: "read a user's newest document again, as after npm run ocr",
  options: { user },
  run: async (context, { user: userId }) => {
    await readAgain(context.db.system, await getUserKey(context, userId));
    return { result: 'queued' };
  },
});

export const identityCommands = [
  listCommand,
  showCommand,
  decideCommand,
  exportCommand,
  readCommand,
];
