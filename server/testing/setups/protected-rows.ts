import { createHmac } from 'node:crypto';
import { createAccount, issueAccessToken } from '../../src/accounts/accounts.ts';
import { setApprovalPolicy } from '../../src/approvals/approval-policies.ts';
import { appendAudit } from '../../src/audit/audit.ts';
import { storeInputs } from '../../src/batches/row-inputs.sql.ts';
import { newId } from '../../src/core/ids.ts';
import { type KeyRing, rowContext } from '../../src/core/sealing.ts';
import type { Database } from '../../src/db/postgres/pool.ts';
import { describeObservation } from '../../src/dispatch/observations.ts';
import { createRequestKey, openKeyRecord } from '../../src/http/idempotency.ts';
import { bookBalance } from '../../src/ledger/bookings.ts';
import { requestApproval } from '../../src/operators/approvals.ts';
import { confirmTotp, createLink, proposeTotp, setPassword } from '../../src/operators/logins.ts';
import { createOperator, findGenuineOperator } from '../../src/operators/operators.ts';
import { readNow } from '../../src/operators/sessions.sql.ts';
import { openSession } from '../../src/operators/sessions.ts';
import { createStore } from '../../src/rails/host/host.ts';
import { sealMessage } from '../../src/rails/host/messages.ts';
import { insertMessage } from '../../src/rails/host/rail-memory.sql.ts';
import { answerContext } from '../../src/webhooks/sending.ts';
import { createEndpoint } from '../../src/webhooks/webhooks.ts';

/** Rows of every table that is sealed or authenticated under the keys of an environment. */

type Place = { db: Database; keys: KeyRing };

export type ProtectedRows = Awaited<ReturnType<typeof storeProtectedRows>>;

/** The tables `environment_keys` and `policies` have rows from the first start on. */
export async function storeProtectedRows({ db, keys }: Place) {
  const session = db.system;
  const services = { session, keys };
  const account = await db.systemTransaction((own) =>
    createAccount(own, { name: 'Test', environmentName: 'staging', keys }),
  );
  const { account: accountId } = account;
  const issued = await issueAccessToken(
    { db, keys },
    {
      clientId: account.client_id,
      clientSecret: account.client_secret,
      scope: undefined,
      address: '127.0.0.1',
    },
  );
  const deposit = { kind: 'fund', reference: 'wire', currency: 'USD', amountMinor: 1n } as const;
  await bookBalance({ db, keys }, { accountId, ...deposit }, { by: 'ada', reason: 'Test' });
  const entry = { actor: { kind: 'system' }, action: 'test', outcome: 'done' } as const;
  await appendAudit(services, entry);
  const operator = await storeOperator(services);
  const approved = { accountId, content: { rules: [], examples: [] }, by: 'ada', reason: 'Test' };
  await db.systemTransaction((own) => setApprovalPolicy({ session: own, keys }, approved));
  await storeVotes({ db, keys }, accountId, operator.id);
  await storeObservation({ db, keys }, accountId);
  const webhook = { accountId, endpointId: newId() };
  await createEndpoint(
    { session: db.tenant(accountId), ...webhook },
    {
      url: 'https://example.org/hook',
      description: '',
      eventTypes: [],
      algorithm: 'hmac-sha256',
      keys,
    },
  );
  await storeDelivery({ db, keys }, webhook);
  const store = createStore('bank', db, keys);
  const file = { collection: 'files', key: 'one', revision: 0 };
  await store.write([{ ...file, next: { state: 'open', value: { text: 'file' } } }]);
  const message = { id: 'notice', channel: 'file' as const, raw: Buffer.from('notice') };
  const sealed = await sealMessage(services, 'bank', { ...message, observations: [] });
  await insertMessage(session, { rail: 'bank', ...message, ...sealed, problems: '[]' }, []);
  const batch = { accountId, batchId: newId(), firstNumber: 1 };
  const inputs = [{ input: { country: 'MEX' }, person: undefined }];
  await storeInputs({ session, keys }, { ...batch, inputs });
  await storeBatch({ db, keys }, batch);
  const request = { method: 'POST', path: '/v0.1.4/batches', body: undefined };
  const recordOf = (ring: KeyRing) => {
    const id = { accountId, key: 'upload' };
    return openKeyRecord(ring, { accountId, ...createRequestKey(ring, id, request) });
  };
  await recordOf(keys).claim(session);
  await recordOf(keys).answer(session, 'answer');
  const storeOf = (ring: KeyRing) => createStore('bank', db, ring);
  return { account, issued, operator, storeOf, webhook, batch, recordOf };
}

async function storeBatch(
  { db, keys }: Place,
  { accountId, batchId }: { accountId: string; batchId: string },
): Promise<void> {
  const hash = keys.seal(Buffer.alloc(32), rowContext('batches.content_hash', accountId, batchId));
  await db.system.query(
    {
      name: '',
      text: `
        insert into batches (account_id, id, format, content_hash, priced_at, created_at, updated_at)
        values ($1, $2, 'csv', $3, now(), now(), now())`,
    },
    [accountId, batchId, hash],
  );
}

async function storeOperator(services: { session: Database['system']; keys: KeyRing }) {
  const { session } = services;
  const created = await createOperator(services, {
    name: 'ada',
    role: 'owner',
    createdBy: undefined,
  });
  const operator = await findGenuineOperator(services, { id: created.operator });
  if (operator === undefined) throw new Error('impossible: the operator was created');
  const password = 'correct horse battery staple';
  await setPassword(services, operator, { password, current: undefined, needsCurrent: false });
  const { proposal, secret } = proposeTotp(services, operator, 'Test');
  const code = computeTotp(secret, await readNow(session));
  const given = { proposal, code, currentCode: undefined, isByLink: true };
  await confirmTotp(services, operator, given);
  const login = { method: 'key', isRestricted: false, address: '127.0.0.1' } as const;
  const sessionToken = await openSession(services, operator, login);
  const link = await createLink(services, operator);
  await requestApproval(services, operator, { action: 'test', parameters: {}, reason: 'Test' });
  return { id: operator.id, key: created.key, password, sessionToken, link: link.token };
}

/** RFC 6238, of a secret in Base32 (RFC 4648). */
function computeTotp(base32: string, now: Date): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = Array.from(base32, (letter) =>
    alphabet.indexOf(letter).toString(2).padStart(5, '0'),
  );
  const bytes = bits.join('').match(/.{8}/g) ?? [];
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(now.getTime() / 30_000)));
  const key = Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
  const hash = createHmac('sha1', key).update(counter).digest();
  const code = hash.readUInt32BE((hash.at(-1) ?? 0) & 15) & 0x7f_ff_ff_ff;
  return String(code % 1_000_000).padStart(6, '0');
}

/** Votes about a payout and a recovery that need not exist. */
async function storeVotes({ db, keys }: Place, accountId: string, operatorId: string) {
  const about = Buffer.alloc(32, 1);
  const [payoutId, id, recoveryId] = [newId(), newId(), newId()];
  const covered = [accountId, payoutId, id, 'paid', 'ada', operatorId, 'Test'];
  await db.system.query(
    {
      name: '',
      text: `
        insert into payout_decisions (account_id, payout_id, id, action, decided_by, operator_id,
          reason, is_effective, decided_at, about, mac)
        values ($1, $2, $3, $4, $5, $6, $7, false, now(), $8, $9)`,
    },
    [
      ...covered,
      about,
      keys.mac(rowContext('payout_decisions', ...covered, about.toString('hex'))),
    ],
  );
  const recovery = `insert into recoveries (id, reason, since, started_at) values ($1, 'Test', now(), now())`;
  await db.system.query({ name: '', text: recovery }, [recoveryId]);
  const vouched = [recoveryId, about.toString('hex'), operatorId, 'ada', 'Test'];
  await db.system.query(
    {
      name: '',
      text: `
        insert into recovery_releases (recovery_id, operator_id, decided_by, reason, decided_at,
          about, mac)
        values ($1, $2, 'ada', 'Test', now(), $3, $4)`,
    },
    [recoveryId, operatorId, about, keys.mac(rowContext('recovery_releases', ...vouched))],
  );
}

/** Of a payout that need not exist. */
async function storeObservation({ db, keys }: Place, accountId: string) {
  const said = { source: 'query', outcome: 'paid', reason: '', code: '', amount: null };
  const row = { account_id: accountId, payout_id: newId(), id: newId(), ...said };
  await db.system.query(
    {
      name: '',
      text: `
        insert into observations (account_id, payout_id, id, source, outcome, is_applied, observed_at, mac)
        values ($1, $2, $3, $4, $5, true, now(), $6)`,
    },
    [accountId, row.payout_id, row.id, row.source, row.outcome, keys.mac(describeObservation(row))],
  );
}

async function storeDelivery(
  { db, keys }: Place,
  { accountId, endpointId }: { accountId: string; endpointId: string },
) {
  const id = newId();
  const answer = keys.seal(Buffer.from('answer'), answerContext({ accountId }, id));
  await db.system.query(
    {
      name: '',
      text: `
        insert into webhook_deliveries (account_id, endpoint_id, id, month, message_id, kind,
          event_type, try, result, error, answer, answer_type, duration_ms, url, started_at)
        values ($1, $2, $3, month_of(environment_now()), '', 'test', 'webhook.test', 1, 'delivered',
          '', $4, '', 1, 'https://example.org', environment_now())`,
    },
    [accountId, endpointId, id, answer],
  );
}
