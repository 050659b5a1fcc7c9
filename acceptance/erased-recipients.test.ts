import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  createSender,
  describeRows,
  pathOf,
  quote,
  readRows,
  uploadRows,
  waitUntilCommitted,
} from './batch-kit.ts';
import { runCommand } from './commands.ts';
import { createPayout, payoutPath } from './recipients.ts';
import { ok, type Service, startService } from './service.ts';
import { assertProblem } from './shapes.ts';

/** Payouts to recipients who cannot be paid: for a while (frozen), or never again (erased). */

let service: Service;
before(async () => {
  service = await startService();
});
after(() => service.stop());

type Refusal = {
  status: string;
  code: string;
  actor: string;
  retryable: boolean;
  detail: string;
  errors: string;
};
type Readiness = { payable: boolean; obstacles: Refusal[] };

const locked = { code: 'user_not_active', actor: 'operator', retryable: true };
const erased = { code: 'user_erased', actor: 'client', retryable: false };

/** A recipient with an open quote and a quoted batch. */
async function prepare() {
  const sender = await createSender(service, { funds: '1000' });
  const { api } = sender;
  const [recipient] = sender.recipients;
  assert.ok(recipient);
  const { payout_token: payoutToken = '' } = await createPayout(api, recipient);
  const uploadRow = () => uploadRows(api, describeRows(sender, 1));
  const batch = await quote(api, await uploadRow());
  const { destination_token: destination } = recipient.payer;
  const query = `destination_token=${destination}&currency=${recipient.delivery.currency}`;
  const read = async () =>
    ok(await api.get<Readiness>(`/user/${recipient.userToken}/readiness?${query}`));
  const commit = async () =>
    ok(await api.put<Refusal>(payoutPath(recipient, payoutToken), undefined));
  return { api, recipient, batch, uploadRow, read, commit };
}

const pick = ({ code, actor, retryable }: Refusal) => ({ code, actor, retryable });

test('nothing about an erased recipient is said to succeed later', async () => {
  const { api, recipient, batch, uploadRow, read, commit } = await prepare();
  assert.equal((await read()).payable, true);
  ok(await api.post(`/user/${recipient.userToken}/erasure`, undefined));

  const { payable, obstacles } = await read();
  assert.equal(payable, false);
  assert.deepEqual(obstacles.map(pick), [erased]);
  assert.equal(obstacles[0]?.detail, 'the data of the user was erased');

  const refused = await commit();
  assert.deepEqual(pick(refused), erased);
  assert.equal(refused.errors, 'the data of the user was erased');

  const { destination_token: destination } = recipient.payer;
  const body = {
    destination_token: destination,
    destination_currency_code: recipient.delivery.currency,
    source_amount: 20,
  };
  assertProblem(await api.post(`/payout/${recipient.userToken}`, body), 410, 'user_erased');

  const again = await uploadRow();
  assert.deepEqual(
    again.faults.filter(({ column }) => column === 'user_token').map(({ code }) => code),
    ['user_erased'],
  );
  ok(await api.put(pathOf(batch), { mode: 'all' }));
  await waitUntilCommitted(api, batch);
  const rows = await readRows(api, batch);
  assert.deepEqual(
    rows.flatMap(({ faults }) => faults).map(({ code, detail }) => [code, detail]),
    [['user_erased', 'the data of the user was erased']],
  );
});

test('a frozen recipient can be paid after the freeze, and no status word is shown', async () => {
  const { api, recipient, batch, uploadRow, read, commit } = await prepare();
  const why = ['--reason', 'a drill'];
  await runCommand(service, ['freeze', 'recipient', '--user', recipient.userToken, ...why]);
  const { obstacles } = await read();
  assert.deepEqual(obstacles.map(pick), [locked]);
  assert.equal(obstacles[0]?.detail, 'the user is locked');
  const refused = await commit();
  assert.deepEqual([pick(refused), refused.errors], [locked, 'the user is locked']);
  const again = await uploadRow();
  assert.deepEqual(
    again.faults.map(({ code, detail }) => [code, detail]),
    [['user_not_active', 'the user is locked']],
  );
  ok(await api.put(pathOf(batch), { mode: 'all' }));
  await waitUntilCommitted(api, batch);
  const rows = await readRows(api, batch);
  assert.deepEqual(
    rows.flatMap(({ faults }) => faults).map(({ code, detail }) => [code, detail]),
    [['user_not_active', 'the user is locked']],
  );
  const freezes = (await runCommand(service, ['freeze', 'list'])) as unknown as {
    id: string;
    user_token?: string;
  }[];
  const own = freezes.find(({ user_token: token }) => token === recipient.userToken);
  await runCommand(service, ['freeze', 'lift', '--freeze', own?.id ?? '', ...why]);
  assert.equal((await commit()).status, 'success');
});
