import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  checkLeases,
  checkLog,
  createRecipients,
  finishAll,
  finishUnknown,
  funds,
  type Log,
  workUntil,
} from './crash-kit.ts';
import {
  findEmbeddedUrl,
  openBooks,
  readPostmaster,
  runThrough,
  waitForRestart,
} from './reliability-kit.ts';
import { createAccount, ok, type Service, startService } from './service.ts';
import { stopProcess } from './service-process.ts';

/** As reliability-crash.test.ts, of a service with an embedded database, which is killed too. */

const rounds = 6;

test(`kill -9 of the service, of its database or of both, ${rounds} times under load`, async () => {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'outlay-crash-'));
  const start = (): Promise<Service> =>
    startService({ isEmbedded: true, isProcess: true, dataDirectory });
  let service = await start();
  const { credentials } = service;
  const account = await createAccount(service, { USD: funds });
  const recipients = await createRecipients(account.api);
  const log: Log = { entries: [], users: [] };
  try {
    for (let round = 0; round < rounds; round += 1) {
      const api = runThrough(service, account);
      const { process: child } = service;
      assert.ok(child !== undefined);
      const [postmaster] = await readPostmaster(dataDirectory);
      // The service (whose guard then stops the database), both, or the database (which the service
      // then restarts).
      const victims = (['service', 'both', 'database'] as const)[round % 3];
      await workUntil({ api, recipients, log }, async () => {
        if (victims !== 'service') process.kill(postmaster, 'SIGKILL');
        if (victims === 'database') await waitForRestart(service, dataDirectory, postmaster);
        else await stopProcess(child, 'SIGKILL');
      });
      if (victims !== 'database') {
        service = await start();
        assert.deepEqual(service.credentials, credentials, 'the demo keys outlive a restart');
        ok(await service.demo.get('/account/balance'));
      }
      const books = openBooks(await findEmbeddedUrl(dataDirectory));
      try {
        if (victims !== 'database') await checkLeases(books);
        await checkLog(books, account, log);
        await finishUnknown(runThrough(service, account), log);
        await checkLog(books, account, log);
        if (round === rounds - 1) await finishAll(runThrough(service, account), books, account);
      } finally {
        await books.close();
      }
    }
    const acknowledged = log.entries.filter((entry) => entry.isCommitted).length;
    assert.ok(acknowledged >= 10 * rounds, `only ${acknowledged} commits: no load`);
  } finally {
    await service.stop();
    await rm(dataDirectory, { recursive: true, force: true });
  }
});
