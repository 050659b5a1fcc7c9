import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, maybeOne, nullable, one, type RowOf } from '../db/rows.ts';

const byOperator = defineQuery({
  name: 'find_operator_login',
  text: `
    select password_hash, totp_secret, mac from operator_logins where operator_id = $1`,
  columns: {
    password_hash: column.text,
    totp_secret: nullable(column.bytes),
    mac: column.bytes,
  },
});

const store: Statement = {
  name: 'store_operator_login',
  text: `
    insert into operator_logins (operator_id, password_hash, totp_secret, mac, changed_at)
    values ($1, $2, $3, $4, clock_timestamp())
    on conflict (operator_id) do update
    set password_hash = excluded.password_hash, totp_secret = excluded.totp_secret,
      mac = excluded.mac, changed_at = excluded.changed_at`,
};

const takeStep: Statement = {
  name: 'take_totp_step',
  text: `
    update operator_logins set totp_step = $2 where operator_id = $1 and totp_step < $2`,
};

const insertLink: Statement = {
  name: 'insert_operator_link',
  text: `
    insert into operator_links (token_hash, operator_id, expires_at, operator_fingerprint, mac)
    values ($1, $2, $3, $4, $5)`,
};

const useLink = defineQuery({
  name: 'use_operator_link',
  text: `
    update operator_links set used_at = clock_timestamp()
    where token_hash = $1 and used_at is null and expires_at > clock_timestamp()
    returning operator_id, expires_at, operator_fingerprint, mac`,
  columns: {
    operator_id: column.uuid,
    expires_at: column.instant,
    operator_fingerprint: column.bytes,
    mac: column.bytes,
  },
});

/** Counts before the attempt is checked, so that attempts at the same time count too. */
const countAttempt = defineQuery({
  name: 'count_login_attempt',
  text: `
    insert into login_attempts as a (key, attempts, since) values ($1, 1, clock_timestamp())
    on conflict (key) do update set
      attempts = case when a.since < clock_timestamp() - $2 * interval '1 second'
        then 1 else a.attempts + 1 end,
      since = case when a.since < clock_timestamp() - $2 * interval '1 second'
        then clock_timestamp() else a.since end
    returning attempts,
      ceil(extract(epoch from since - clock_timestamp()) + $2)::integer as wait_seconds`,
  columns: { attempts: column.integer, wait_seconds: column.integer },
});

const forgetAttempts: Statement = {
  name: 'forget_login_attempts',
  text: `delete from login_attempts where key = $1`,
};

export type LoginRow = RowOf<typeof byOperator.columns>;

export const findLogin = (session: Session, operatorId: string) =>
  maybeOne(session, byOperator, [operatorId]);

export async function storeLogin(
  session: Session,
  operatorId: string,
  row: Pick<LoginRow, 'password_hash' | 'totp_secret' | 'mac'>,
): Promise<void> {
  await exec(session, store, [operatorId, row.password_hash, row.totp_secret, row.mac]);
}

/** False where a code of this time step, or of a later one, was accepted before. */
export async function takeTotpStep(
  session: Session,
  operatorId: string,
  step: number,
): Promise<boolean> {
  return (await exec(session, takeStep, [operatorId, step])) > 0;
}

export type NewLinkRow = {
  tokenHash: Buffer;
  operatorId: string;
  expiresAt: Date;
  operatorFingerprint: Buffer;
  mac: Buffer;
};

export async function storeLink(session: Session, link: NewLinkRow): Promise<void> {
  const { tokenHash, operatorId, expiresAt, operatorFingerprint, mac } = link;
  await exec(session, insertLink, [tokenHash, operatorId, expiresAt, operatorFingerprint, mac]);
}

export const useLinkRow = (session: Session, tokenHash: Buffer) =>
  maybeOne(session, useLink, [tokenHash]);

export const countAttemptRow = (session: Session, key: Buffer, windowSeconds: number) =>
  one(session, countAttempt, [key, windowSeconds]);

export const forgetAttemptRows = (session: Session, key: Buffer) =>
  exec(session, forgetAttempts, [key]);
