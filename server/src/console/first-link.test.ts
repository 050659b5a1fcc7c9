import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createMoneyTest } from '../../testing/setups/money.ts';
import { readConfig } from '../config.ts';
import { prepareConsoleLink } from './first-link.ts';

test('processes that start at the same moment each print a link, and there is one owner', async () => {
  await using money = await createMoneyTest();
  const folder = mkdtempSync(join(tmpdir(), 'outlay-links-'));
  try {
    const links = await Promise.all(
      Array.from({ length: 6 }, (_, index) => {
        const config = readConfig({ OUTLAY_DATA: join(folder, String(index)) });
        const services = { name: 'staging', db: money.connect(), keys: money.keys } as const;
        return prepareConsoleLink(services, { config, baseUrl: 'http://127.0.0.1:8080' });
      }),
    );
    assert.equal(new Set(links).size, links.length);
    assert.ok(links.every((link) => link?.startsWith('http://127.0.0.1:8080/console#link=')));
    const owners = await money.rows(`select name from operators where role = 'owner'`);
    assert.deepEqual(owners, [{ name: 'owner' }]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
