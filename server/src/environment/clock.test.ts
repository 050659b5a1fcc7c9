import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../testing/setups/database.ts';
import { waitUntil } from '../../testing/setups/live.ts';
import { openOwner } from '../../testing/setups/owner-session.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { createApp } from '../app.ts';
import { type Role, readConfig } from '../config.ts';

/** Processes without requests follow the clock that another process moves. */

let database: TestDatabase;
let dataDirectory: string;
before(async () => {
  database = await createTestDatabase();
  dataDirectory = mkdtempSync(join(tmpdir(), 'outlay-clock-'));
});
after(async () => {
  await database.drop();
  rmSync(dataDirectory, { recursive: true });
});

const hourMs = 3_600_000;

async function moveClock(): Promise<void> {
  const owner = openOwner(database.url);
  const move = 'clock_offset_us + 3600000000';
  await readRows(owner.session, {
    name: '',
    text: `update environment set clock_target_us = ${move}, clock_offset_us = ${move}`,
  });
  await owner.close();
}

for (const role of ['serve', 'work'] as const satisfies readonly Role[]) {
  test(`a process in the role ${role} follows a moved clock without a request or a payout`, async () => {
    const config = readConfig({
      DATABASE_URL: database.url,
      OUTLAY_DATA: dataDirectory,
      OUTLAY_LOG_LEVEL: 'silent',
      PORT: '0',
      OUTLAY_WORK_PORT: '0',
    });
    const app = await createApp(config, { role, realNowMs: Date.now });
    try {
      await app.listen();
      const clock = app.environments.staging?.clock;
      assert.ok(clock !== undefined);
      const startMs = clock.nowMs();
      await moveClock();
      await waitUntil(async () => clock.nowMs() >= startMs + hourMs, 5_000);
    } finally {
      await app.close();
    }
  });
}
