import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { createTestDatabase } from '../testing/setups/database.ts';
import { createApp } from './app.ts';
import { readConfig } from './config.ts';
import { lockEnvironment } from './db/environment-record.ts';

test('the service is not ready before the file with the credentials is written', async () => {
  const servers: FastifyInstance[] = [];
  subscribe('fastify.initialization', (message) => {
    servers.push((message as { fastify: FastifyInstance }).fastify);
  });
  const database = await createTestDatabase();
  const dataDirectory = mkdtempSync(join(tmpdir(), 'outlay-app-'));
  const config = readConfig({
    DATABASE_URL: database.url,
    OUTLAY_DATA: dataDirectory,
    OUTLAY_LOG_LEVEL: 'silent',
    HOST: '127.0.0.1',
    PORT: '0',
  });
  const app = await createApp(config, { role: 'serve', realNowMs: Date.now });
  const path = join(dataDirectory, 'staging.json');
  const [server] = servers;
  const isReady = async () => (await server?.inject('/health/ready'))?.statusCode;
  try {
    let started: ReturnType<typeof app.listen> | undefined;
    // The Demo account is made under this lock.
    await app.environments.staging?.db.systemTransaction(async (session) => {
      await lockEnvironment(session);
      started = app.listen();
      while (server?.server.listening !== true) await new Promise((done) => setTimeout(done, 5));
      assert.equal(await isReady(), 503);
      assert.equal(existsSync(path), false);
    });
    const { baseUrl } = (await started) ?? { baseUrl: '' };
    assert.equal(await isReady(), 200);
    assert.equal(JSON.parse(readFileSync(path, 'utf8')).base_url, baseUrl);
  } finally {
    await app.close();
    await database.drop();
    rmSync(dataDirectory, { recursive: true });
  }
});
