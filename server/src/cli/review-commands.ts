import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, RefusedCommand } from '../config.ts';
import { formatToken, isUuid } from '../core/ids.ts';
import type { Environment } from '../environment/environment.ts';
import {
  decideIdentity,
  type IdentityDecision,
  identityDecisions,
  listDecisions,
  listPending,
  openImages,
} from '../kyc/decisions.ts';
import { getSessions, statusAt } from '../kyc/kyc.ts';
import { decideScreenedPayout } from '../rules/screening-decisions.ts';
import { listPayoutScreenings } from '../screening/payout-screenings.ts';
import { findScreening, recordDecision } from '../screening/records.ts';
import { need, tell, type Values } from './command-values.ts';
import { findPayout, findUserKey } from './operator-commands.ts';

/** The commands of those who decide about people: sanctions hits and identities. All answer JSON. */

type Command = (env: Environment, values: Values) => Promise<unknown>;

const shownMax = 1000;

export const reviewCommands: Readonly<Record<string, Command>> = {
  'screening show': async (env, values) => {
    if (values['payout'] !== undefined) {
      const payout = await findPayout(env, values);
      const found = await listPayoutScreenings(env.db.system, payout);
      return found.length === 0 ? 'never screened' : found;
    }
    const user = await findUserKey(env, values);
    return (await findScreening(env.db.system, user)) ?? 'never screened';
  },
  'screening decide': async (env, values) => {
    const decision = need(values, 'decision');
    if (decision !== 'cleared' && decision !== 'confirmed') {
      throw new ConfigError('--decision must be cleared or confirmed');
    }
    const given = {
      decision,
      decidedBy: need(values, 'by'),
      reason: need(values, 'reason'),
    } as const;
    if (values['payout'] === undefined) return decideRecipient(env, values, given);
    await tell(decideScreenedPayout(env, { ...(await findPayout(env, values)), ...given }));
    return { result: 'done' };
  },
  'identity list': async (env, values) => {
    const { account } = values;
    if (account !== undefined && !(typeof account === 'string' && isUuid(account))) {
      throw new ConfigError('--account must be an identifier');
    }
    const page = { accountId: account, before: undefined, rowsMax: shownMax };
    const rows = await listPending(env.db.system, page);
    return rows.map(({ account_id: accountId, id, user_id: userId, ...row }) => ({
      account: accountId,
      user_token: formatToken('user', userId),
      session_id: id,
      ...row,
    }));
  },
  'identity show': async (env, values) => {
    const user = await findUserKey(env, values);
    const page = { ...user, before: undefined, rowsMax: shownMax };
    const now = new Date(env.clock.nowMs());
    const sessions = await tell(getSessions(env, page));
    const decisions = await tell(listDecisions({ sql: env.db.system, keys: env.keys }, user));
    return {
      account: user.accountId,
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
    };
  },
  'identity decide': async (env, values) => {
    const decision = need(values, 'decision');
    if (!isIdentityDecision(decision)) {
      throw new ConfigError(`--decision must be one of ${identityDecisions.join(', ')}`);
    }
    const user = await findUserKey(env, values);
    const given = {
      ...user,
      sessionId: undefined,
      submission: undefined,
      decision,
      decidedBy: need(values, 'by'),
      reason: need(values, 'reason'),
      credentialId: undefined,
    };
    const { result, session } = await tell(
      env.db.tenantTransaction(user.accountId, (sql) =>
        decideIdentity({ sql, keys: env.keys }, given),
      ),
    );
    return { result, session_id: session.id, status: session.status };
  },
  'identity export': async (env, values) => {
    const user = await findUserKey(env, values);
    const folder = need(values, 'folder');
    const opened = await tell(openImages({ sql: env.db.system, keys: env.keys }, user));
    const files = opened.images.map(({ type, bytes }) => {
      const file = join(folder, `${opened.session.id}-${opened.session.submission}-${type}.jpg`);
      return { file, bytes };
    });
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      for (const { file, bytes } of files) writeFileSync(file, bytes, { mode: 0o600, flag: 'wx' });
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause);
      throw new ConfigError(`the images cannot be written: ${detail}`, { cause });
    }
    const { id, submission } = opened.session;
    return { session_id: id, submission, files: files.map(({ file }) => file) };
  },
};

async function decideRecipient(
  env: Environment,
  values: Values,
  given: { decision: 'cleared' | 'confirmed'; decidedBy: string; reason: string },
): Promise<unknown> {
  const user = await findUserKey(env, values);
  const last = await findScreening(env.db.system, user);
  if (last === undefined) throw new RefusedCommand('the user was never screened');
  const services = { session: env.db.system, keys: env.keys };
  const { sequence } = last;
  const result = await tell(recordDecision(services, { ...user, sequence, ...given }));
  switch (result.kind) {
    case 'recorded':
      return result;
    case 'nothing_to_decide':
      throw new RefusedCommand(
        'nothing was found about this user on the lists, so that there is nothing to decide',
      );
    case 'stale':
      throw new RefusedCommand('the user was screened again meanwhile: look at it and decide then');
  }
}

function isIdentityDecision(text: string): text is IdentityDecision {
  return (identityDecisions as readonly string[]).includes(text);
}
