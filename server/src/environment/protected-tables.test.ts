import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestDatabase } from '../../testing/setups/database.ts';
import { openOwner } from '../../testing/setups/owner-session.ts';
import { indexedTables } from './indexed-tables.ts';
import { protectedTables } from './protected-tables.ts';

/**
 * Every column of bytes that is not under the keys of the environment. A new one belongs here, or in a
 * `defineProtectedTable` of its module: otherwise the rotation would leave its rows under keys that are
 * destroyed.
 */
const otherColumns: Readonly<Record<string, readonly string[]>> = {
  'sealed under the key of a user': [
    'attribute_set_versions.sealed',
    'payee_checks.sealed',
    'payout_screenings.evidence',
    'proposals.reason',
    'recipient_links.redirect_url',
    'screening_clearances.reason',
    'screening_opinions.answer',
    'screening_opinions.request',
    'screenings.decision_reason',
    'screenings.evidence',
    'travel_rule_messages.message',
    'users.sealed',
    'verification_checks.sealed',
    'verification_decisions.reason',
    'verification_images.sealed',
  ],
  'a key, wrapped by a master key': [
    'environment.index_key',
    'environment_keys.authentication_key',
    'environment_keys.sealing_key',
    'environment_keys.signing_key',
    'users.data_key',
  ],
  'a signature': [
    'audit_checkpoints.signature',
    'chain_checkpoints.signature',
    'environment_keys.endorsement',
  ],
  'a hash of a secret of 256 bits': [
    'access_tokens.token_hash',
    'credentials.secret_hash',
    'operator_links.token_hash',
    'operator_sessions.token_hash',
    'operators.secret_hash',
    'recipient_links.token_hash',
  ],
  'a hash without a key, or no secret at all': [
    'accounts.brand_logo',
    'audit_entries.digest',
    'audit_entries.hash',
    'audit_head.hash',
    'bank_entries.file_digest',
    'bank_files.digest',
    'event_links.digest',
    'event_links.hash',
    'ledger_links.digest',
    'ledger_links.hash',
    'login_attempts.key',
    'operator_links.operator_fingerprint',
    'operator_sessions.operator_fingerprint',
    'payout_decisions.about',
    'payout_screenings.list_fingerprint',
    'proposals.terms_hash',
    'recovered_payments.destination_hash',
    'recovery_releases.about',
    'screening_entries.content_hash',
    'screening_rounds.list_fingerprint',
    'screening_versions.content_hash',
    'screenings.list_fingerprint',
  ],
};

const root = join(import.meta.dirname, '..');

test('every column of bytes is one that a rotation of the keys renews, or need not', async () => {
  await using database = await createTestDatabase();
  const owner = openOwner(database.url);
  const text = `
    select c.relname || '.' || a.attname as name from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
      and not c.relispartition and a.attnum > 0 and a.atttypid in ('bytea'::regtype, 'bytea[]'::regtype)
    order by 1`;
  const { rows } = await owner.session.query({ name: '', text }, []);
  await owner.close();
  const listed = [
    ...protectedTables.flatMap(({ table, values }) => values.map((name) => `${table}.${name}`)),
    ...indexedTables.flatMap(({ columns }) => columns),
    ...Object.values(otherColumns).flat(),
  ];
  assert.deepEqual(
    rows.map((row) => (row as { name: string }).name),
    listed.toSorted(),
  );
});

/** Which rows a module seals or authenticates under the keys of the environment. */
const modules: Readonly<Record<string, readonly string[]>> = {
  'accounts/accounts.ts': ['credentials', 'access_tokens'],
  'approvals/approval-policies.ts': ['approval_policies'],
  'audit/audit.ts': ['audit_entries'],
  'batches/receive.ts': ['batches'],
  'batches/row-inputs.sql.ts': ['batch_inputs'],
  'db/protected-tables.ts': [],
  'dispatch/observations.ts': ['observations'],
  'dispatch/recovery.ts': ['recovery_releases'],
  'exceptions/decisions.ts': ['payout_decisions'],
  'http/idempotency.ts': ['idempotency_records'],
  'ledger/bookings.ts': ['balance_bookings'],
  'operators/approvals.ts': ['approvals'],
  'operators/logins.ts': ['operator_logins', 'operator_links'],
  'operators/operators.ts': ['operators'],
  'operators/policies.ts': ['policies'],
  'operators/sessions.ts': ['operator_sessions'],
  'rails/host/host.ts': ['rail_records'],
  'rails/host/messages.ts': ['rail_messages'],
  'webhooks/sending.ts': ['webhook_deliveries'],
  'webhooks/webhooks.ts': ['webhook_secrets'],
  // Links: `environment-key destroy-old` says that they end with the keys.
  'core/link-token.ts': [],
  // Secret files of the operator: a rotation lists those to seal again.
  'cli/rail.ts': [],
};

test('every module that seals or authenticates under the keys of the environment is known', () => {
  const files = globSync('**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  const using = files.filter((file) =>
    /\bkeys\s*\.(?:mac|seal)\(/.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.deepEqual(using.toSorted(), Object.keys(modules).toSorted());
  // That of its generations is computed with one of them, which need not be the newest.
  const tables = [...Object.values(modules).flat(), 'environment_keys'];
  assert.deepEqual(tables.toSorted(), protectedTables.map(({ table }) => table).toSorted());
});

/** Which columns hold the keyed hashes of a purpose. */
const purposes: Readonly<Record<string, readonly string[]>> = {
  internal_user_id: ['users.internal_id_index'],
  email: ['users.email_index'],
  name: ['user_names.term_hash'],
  attributes: ['attribute_set_versions.fingerprint'],
  metadata: ['payout_metadata.entry_hash', 'batch_rows.metadata_hashes'],
  screening: ['screenings.subject_index', 'screening_clearances.subject_index'],
  'payout screening': ['payout_screenings.subject_index'],
  'screening service': ['screening_opinions.subject_index'],
  'rate limit': ['rate_limit_use.keys'],
};

test('every keyed hash of the index key is one that a rotation of that key computes again', () => {
  const files = globSync('**/*.ts', { cwd: root }).filter(
    (file) => !file.endsWith('.test.ts') && file !== 'core/sealing.ts',
  );
  const texts = files.map((file) => readFileSync(join(root, file), 'utf8'));
  const calls = texts.flatMap((text) => [...text.matchAll(/\bblindIndex\(\s*(.{0,60})/g)]);
  // The purpose is a literal, or what precedes the account or user in one.
  const found = calls.map(
    ([, given = '']) => /^['`]([a-z_ ]+?)(?:'| \$\{)/.exec(given)?.[1] ?? given,
  );
  assert.deepEqual(found.toSorted(), Object.keys(purposes).toSorted());
  assert.deepEqual(
    Object.values(purposes).flat().toSorted(),
    indexedTables.flatMap(({ columns }) => columns).toSorted(),
  );
});
