import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../../testing/setups/database.ts';
import { createOpener } from './connection.ts';
import { ensureTenantRole, inspectTenantRole } from './tenant-role.ts';

test('the tenant role is ensured on a cluster of several hosts', async () => {
  await using database = await createTestDatabase();
  const url = new URL(database.url);
  const host = url.searchParams.get('host') ?? url.hostname;
  const port = url.port === '' ? '5432' : url.port;
  url.searchParams.set('host', `${host},${host}`);
  url.searchParams.set('port', `1,${port}`);
  url.searchParams.set('target_session_attrs', 'read-write');
  const cluster = url.href.replace(url.host, '');
  await ensureTenantRole({ url: cluster });
  const { client } = await createOpener(cluster).open({});
  const state = await inspectTenantRole(client);
  await client.end();
  assert.deepEqual(state, {
    exists: true,
    isMember: true,
    statements: [],
    serviceRole: 'outlay_service',
    missingGrants: [],
  });
});

test('deferred triggers do not depend on the rights of the committing role', async () => {
  await using database = await createTestDatabase();
  const { client } = await createOpener(database.url).open({});
  // Before PostgreSQL 18 they run as the role that commits, which may be a tenant.
  const { rows } = await client.query<{ name: string }>(`
    select distinct p.proname as name from pg_trigger t join pg_proc p on p.oid = t.tgfoid
    where t.tgdeferrable and not t.tgisinternal and not p.prosecdef`);
  await client.end();
  assert.deepEqual(rows, []);
});
