import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import fastify from 'fastify';
import { createTestDatabase, type TestDatabase } from '../../testing/setups/database.ts';
import { AppError } from '../core/errors.ts';
import { createKeyRing } from '../core/sealing.ts';
import { connectDatabase, type Database } from '../db/postgres/pool.ts';
import { createRateLimiters } from './limits.ts';
import { createRateExchange } from './rate-exchange.ts';

/** A limit holds approximately once across all processes. */

const perSecond = 100;
const keys = createKeyRing(randomBytes(32));
let database: TestDatabase;
let db: Database;
before(async () => {
  database = await createTestDatabase();
  db = connectDatabase({ url: database.url, connectionsMax: 2 });
});
after(async () => {
  await db.close();
  await database.drop();
});

let nowMs = 1_000_000;
const steadyMs = (): number => nowMs;

function startProcess() {
  const limits = {
    credentialPerSecond: perSecond,
    addressPerSecond: perSecond,
    expensivePerSecond: perSecond,
  };
  const limiters = createRateLimiters(fastify(), limits, steadyMs);
  return {
    exchange: createRateExchange({ db, keys, limiters, steadyMs }),
    /** How many of so many requests are let through. */
    ask: (key: string, tries: number): number => {
      let passed = 0;
      for (let index = 0; index < tries; index += 1) {
        try {
          limiters.credential.check(key);
          passed += 1;
        } catch (error) {
          assert.ok(error instanceof AppError && error.code === 'rate_limited');
        }
      }
      return passed;
    },
  };
}

/** Steps of a tenth of a second, and an exchange at the end of each second. */
async function run(
  processes: ReturnType<typeof startProcess>[],
  key: string,
  options: {
    seconds: number;
    triesPerStep: number;
  },
): Promise<number> {
  let passed = 0;
  for (let step = 1; step <= options.seconds * 10; step += 1) {
    for (const process of processes) passed += process.ask(key, options.triesPerStep);
    nowMs += 100;
    if (step % 10 === 0) for (const process of processes) await process.exchange();
  }
  return passed;
}

test('four processes together admit as many requests as one', async () => {
  const processes = Array.from({ length: 4 }, startProcess);
  const seconds = 20;
  const passed = await run(processes, 'greedy', { seconds, triesPerStep: 50 });
  // In the first second no process knows of the others yet.
  const bounds = { least: seconds * perSecond * 0.7, most: (seconds + 4) * perSecond * 1.2 };
  assert.ok(passed >= bounds.least && passed <= bounds.most, String(passed));
});

test('a client below its limit across all processes is never refused', async () => {
  const processes = Array.from({ length: 4 }, startProcess);
  const [seconds, triesPerStep] = [10, 2];
  const passed = await run(processes, 'modest', { seconds, triesPerStep });
  assert.equal(passed, processes.length * seconds * 10 * triesPerStep);
});

test('keys are stored as hashes, and old rows are removed', async () => {
  const processes = Array.from({ length: 2 }, startProcess);
  await run(processes, 'client', { seconds: 3, triesPerStep: 20 });
  const { rows } = await db.system.query({
    name: '',
    text: `select encode(unnest(keys), 'escape') as text from rate_limit_use`,
  });
  assert.ok(rows.length > 0);
  for (const { text } of rows) assert.doesNotMatch(String(text), /client/);
});
