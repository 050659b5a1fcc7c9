import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { newId } from '../core/ids.ts';
import { compileCatalog } from '../destinations/catalog.ts';
import { beginRecoveryRow } from '../dispatch/recovery.sql.ts';
import { readOverview } from '../monitoring/overview.ts';
import { listEndpoints, measureWebhooks } from '../webhooks/webhooks.sql.ts';
import { renderEvents } from './event-view.ts';
import { type EventRow, readEvents } from './events.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

async function beginRecovery(): Promise<void> {
  await money.rows(
    'update recoveries set listed_at = now(), released_at = now(), closed_at = now()',
  );
  await beginRecoveryRow(money.db.system, { id: newId(), reason: 'a test', rails: [] });
}

const read = (accountId: string, after: bigint | undefined, count = 100): Promise<EventRow[]> =>
  readEvents(money.db.tenant(accountId), { accountId, after, count });

test('events after a restore have numbers that no lost event had, and say so first', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { accountId } = owner;
  await money.quote(owner);
  const kept = (await read(accountId, undefined)).at(-1)?.sequence ?? 0n;
  const lost = kept + 3n;
  await beginRecovery();
  await money.quoteAndCommit(owner);

  const rows = await read(accountId, kept);
  const [restored] = rows;
  assert.ok(restored !== undefined && restored.sequence > kept + 1_000_000_000n);
  assert.deepEqual(
    rows.map(({ type, sequence }) => [type, sequence - restored.sequence]),
    [
      ['account.restored', 0n],
      ['payout.pending', 1n],
      ['payout.processing', 2n],
    ],
  );
  const context = { keys: money.keys, accountId, catalog: compileCatalog([]), rails: [] };
  const [shown] = await renderEvents(
    { ...context, session: money.db.tenant(accountId), canRead: () => true },
    rows.slice(0, 1),
  );
  assert.equal(JSON.stringify(shown?.data), `{"last_sequence":${kept}}`);

  const code = 'events_dropped';
  await assert.rejects(read(accountId, lost), {
    code,
    message: `after must be at most ${kept}, or at least ${restored.sequence - 1n}: the events between were lost when the database was restored to an earlier moment`,
  });
  assert.equal((await read(accountId, restored.sequence - 1n)).length, 3);
  await money.assertSound();
  await money.rows('delete from events where account_id = $1 and sequence <= $2', [
    accountId,
    kept,
  ]);
  await assert.rejects(read(accountId, kept - 1n), { code });
  assert.equal((await read(accountId, kept)).length, 3);
});

test('what counts events does not count those that a restore has skipped', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { accountId } = owner;
  await money.rows(
    `insert into webhook_endpoints (account_id, id, url, description, event_types, cursor, created_at)
     select id, gen_random_uuid(), 'https://example.com', '', '{}', event_sequence, now()
     from accounts where id = $1`,
    [accountId],
  );
  await money.rows(
    `insert into webhook_secrets (account_id, endpoint_id, id, algorithm, sealed, public_key, created_at)
     select account_id, id, gen_random_uuid(), 'ed25519', '', '', now() from webhook_endpoints
     where account_id = $1`,
    [accountId],
  );
  await money.quote(owner);
  await beginRecovery();
  await beginRecovery();
  const payout = await money.quoteAndCommit(owner);
  // One before the restores, one of each, two after them.
  const [endpoint] = await listEndpoints(money.db.tenant(accountId), accountId);
  assert.equal(Number(endpoint?.backlog), 5);
  const [measured] = await measureWebhooks(money.db.system);
  assert.equal(measured?.backlog, 5);

  await money.rows(
    `update webhook_endpoints e set cursor = a.event_sequence - 3 from accounts a where a.id = e.account_id`,
  );
  assert.equal((await measureWebhooks(money.db.system))[0]?.backlog, 3, 'in the skipped ones');

  const { payouts_by_day: days } = await readOverview(money.db, { accountId, days: 30 });
  assert.deepEqual(
    days.map(({ status, count }) => [status, count]),
    [[(await money.payout(payout.payoutId)).status, 1]],
  );
});
