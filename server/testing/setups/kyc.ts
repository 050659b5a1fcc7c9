import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import sharp from 'sharp';
import { newId } from '../../src/core/ids.ts';
import { createKeyRing, newDataKey } from '../../src/core/sealing.ts';
import { connectDatabase, type Statement } from '../../src/db/postgres/pool.ts';
import { exec } from '../../src/db/rows.ts';
import { createRateLimiters } from '../../src/http/limits.ts';
import { addRoutes } from '../../src/http/routing.ts';
import { createServer, setNotFound } from '../../src/http/server.ts';
import { identityDecisionRoutes } from '../../src/kyc/decisions.routes.ts';
import { imageTypes, type PreparedImage } from '../../src/kyc/intake.ts';
import { createKycRoutes } from '../../src/kyc/kyc.routes.ts';
import { createTestDatabase, patientLimits } from './database.ts';

/** Set-up of identity tests: an empty environment, its keys, and users. */

const insertEnvironment: Statement = {
  name: 'test_insert_environment',
  text: `insert into environment (name, master_key_id) values ($1, 'test')
    on conflict do nothing`,
};
const insertAccount: Statement = {
  name: 'test_insert_account',
  text: `insert into accounts (id, name, created_at) values ($1, 'Test', environment_now())`,
};
const insertUser: Statement = {
  name: 'test_insert_user',
  text: `insert into users (account_id, id, internal_id_index, email_index, country, data_key,
      sealed, created_at, updated_at)
    values ($1, $2, $3, $4, 'MEX', $5, '', environment_now(), environment_now())`,
};
const moveClock: Statement = {
  name: 'test_move_clock',
  text: 'update environment set clock_offset_us = clock_offset_us + $1, clock_target_us = clock_target_us + $1',
};

export const images: PreparedImage[] = imageTypes.map((type) => ({
  type,
  bytes: Buffer.from(`pixels of ${type}`),
  width: 1,
  height: 1,
}));

export async function createKycTest(environmentName: 'staging' | 'live' = 'staging') {
  const database = await createTestDatabase();
  const db = connectDatabase({ ...database, connectionsMax: 8, limits: patientLimits });
  const keys = createKeyRing(randomBytes(32));
  await exec(db.system, insertEnvironment, [environmentName]);
  let offsetMs = 0;
  const test = {
    db,
    keys,
    clock: { nowMs: () => performance.timeOrigin + performance.now() + offsetMs },
    createAccount: async (): Promise<string> => {
      const accountId = newId();
      await exec(db.system, insertAccount, [accountId]);
      return accountId;
    },
    createUser: async (accountId: string): Promise<string> => {
      const userId = newId();
      const dataKey = keys.wrap(newDataKey(), { accountId, userId });
      await exec(db.system, insertUser, [
        accountId,
        userId,
        randomBytes(32),
        randomBytes(32),
        dataKey,
      ]);
      return userId;
    },
    advanceDays: async (days: number): Promise<void> => {
      const milliseconds = days * 24 * 60 * 60 * 1000;
      offsetMs += milliseconds;
      await exec(db.system, moveClock, [BigInt(milliseconds) * 1000n]);
    },
    kycStatus: async (owner: { accountId: string; userId: string }) => {
      const text = 'select kyc_status from users where account_id = $1 and id = $2';
      const values = [owner.accountId, owner.userId];
      return (await test.rows<{ kyc_status: string }>(text, values))[0]?.kyc_status;
    },
    eventTypes: async (accountId: string): Promise<string[]> => {
      const text = 'select type from events where account_id = $1 order by sequence';
      return (await test.rows<{ type: string }>(text, [accountId])).map(({ type }) => type);
    },
    rows: async <Row>(text: string, values: unknown[] = []): Promise<Row[]> =>
      (await db.system.query({ name: '', text }, values)).rows as Row[],
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await db.close();
      await database.drop();
    },
  };
  return test;
}

/**
 * The verification routes on a server; the bearer `account.{id}` is that account, and `reviewer.{id}`
 * a reviewer of it.
 */
export async function createKycServer(kyc: Awaited<ReturnType<typeof createKycTest>>) {
  const env = { name: 'staging' as const, db: kyc.db, keys: kyc.keys, clock: kyc.clock };
  const environments = { staging: env };
  const { app } = createServer({
    environments,
    defaultEnvironment: 'staging',
    log: pino({ level: 'silent' }),
    logEvery: 1,
    trustedProxies: [],
  });
  const often = 100_000;
  const limiters = createRateLimiters(
    app,
    { credentialPerSecond: often, addressPerSecond: often, expensivePerSecond: often },
    () => performance.now(),
  );
  const routes = [...createKycRoutes(), ...identityDecisionRoutes()];
  addRoutes(app, {
    environments,
    routes,
    limiters,
    address: { publicUrl: undefined, defaultEnvironment: 'staging' },
    authenticate: async (_env, token) => {
      const [, role, accountId] = /^(account|reviewer)\.(.+)$/.exec(token) ?? [];
      if (accountId === undefined) return undefined;
      const scopes = role === 'reviewer' ? ['kyc:decide'] : ['kyc:write', 'users:read'];
      return { accountId, credentialId: accountId, scopes: new Set(scopes) };
    },
  });
  setNotFound(app, routes);
  await app.ready();
  return app;
}

/** A small valid upload; each call draws different pixels. */
export async function drawUpload(): Promise<{ type: string; content: string }[]> {
  const items = [];
  for (const [index, type] of imageTypes.entries()) {
    const pixels = randomBytes(48 * 32 * 3);
    const image = sharp(pixels, { raw: { width: 48, height: 32, channels: 3 } });
    const bytes = await (index === 0 ? image.png() : image.jpeg()).toBuffer();
    items.push({ type, content: bytes.toString('base64') });
  }
  return items;
}
