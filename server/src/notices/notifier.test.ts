import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { smtpError, startMailServer } from '../../testing/setups/mail.ts';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { createRecipient, openTestEmail, openTestNotifier } from '../../testing/setups/notices.ts';
import { openPickupCode } from '../core/pickup-code.ts';
import { expireNotices } from './notices.ts';

/** The outbox: what is sent, when it is tried again, and what is never sent. */

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());
beforeEach(async () => {
  await money.rows(
    `update notices set state = 'skipped', ended_at = now() where state = 'waiting'`,
  );
  await money.rows(`select set_notice_channels('{email}')`);
});

type Row = { state: string; reason: string; tries: number; payout_status: string };
const listNotices = (payoutId: string): Promise<Row[]> =>
  money.rows<Row>(
    `select state, reason, tries, payout_status from notices where payout_id = $1
     order by created_at, id`,
    [payoutId],
  );
const minuteMs = 60_000;

test('the recipient gets a notice in their language and time zone, with code and receipt', async () => {
  await using server = await startMailServer();
  const owner = await createRecipient(money, {
    email: 'Ana.Gomez@example.org',
    language: 'es',
    timezone: 'America/Tijuana',
  });
  const payout = await money.quoteAndCommit(owner, {
    notifyUser: true,
    deliveryType: 'CASH_PICKUP',
  });
  const notifier = openTestNotifier(money, openTestEmail(server));
  await notifier.drain();
  await money.observe(payout, 'ready_for_pickup');
  await notifier.drain();
  assert.deepEqual(notifier.errors, []);
  assert.deepEqual(notifier.results, ['email sent', 'email sent']);
  const [committed, ready] = server.mails;
  assert.match(committed?.subject ?? '', /^Test le está enviando /);
  assert.match(ready?.subject ?? '', /listo para retirar$/);
  assert.deepEqual(ready?.envelope, {
    from: 'no-reply@outlay.example',
    to: ['Ana.Gomez@example.org'],
  });
  assert.equal(ready?.from?.value[0]?.name, 'Test');
  const [state] = await money.rows<{ stored: string; dataKey: Buffer }>(
    `select pickup_code as stored, data_key as "dataKey" from payouts p
    join users u on u.account_id = p.account_id and u.id = p.user_id where p.id = $1`,
    [payout.payoutId],
  );
  assert.ok(state !== undefined);
  const code = openPickupCode(money.keys, { ...payout, ...state });
  assert.match(code, /^\d{8}$/);
  for (const body of [ready?.text, ready?.html]) {
    assert.ok(typeof body === 'string');
    assert.ok(body.includes(code) && body.includes('Ana Gómez'));
    assert.ok(body.includes(`https://payouts.example/receipt/${payout.payoutId}`));
  }
  assert.ok(committed?.text?.includes(code) === false);
  assert.equal(ready?.headers.get('auto-submitted'), 'auto-generated');
  assert.equal(ready?.headers.get('content-language'), 'es');
});

test('a payout without notify_user, and one without a channel, leaves no notice', async () => {
  const owner = await createRecipient(money);
  const quiet = await money.quoteAndCommit(owner, { notifyUser: false });
  await money.rows(`select set_notice_channels('{}')`);
  const off = await money.quoteAndCommit(owner, { notifyUser: true });
  assert.deepEqual(await listNotices(quiet.payoutId), []);
  assert.deepEqual(await listNotices(off.payoutId), []);
});

test('a greylisted notice is sent again as the same message', async () => {
  const seen: string[] = [];
  await using server = await startMailServer({
    onMail: ({ messageId = '' }) => {
      seen.push(messageId);
      if (seen.length === 1) throw smtpError(451, '4.7.1 Ana.Gomez@example.org try again later');
    },
  });
  const payout = await money.quoteAndCommit(await createRecipient(money), { notifyUser: true });
  const notifier = openTestNotifier(money, openTestEmail(server));
  await notifier.drain();
  const [waiting] = await listNotices(payout.payoutId);
  assert.equal(waiting?.state, 'waiting');
  // What the server says may name the recipient.
  assert.equal(waiting.reason, 'the server answered 451 4.7.1 at DATA');
  await money.advance(minuteMs);
  await notifier.drain();
  assert.equal((await listNotices(payout.payoutId))[0]?.state, 'sent');
  assert.equal(seen.length, 2);
  assert.equal(new Set(seen).size, 1);
  assert.match(seen[0] ?? '', /^<[0-9a-f-]{36}@outlay\.example>$/);
  assert.deepEqual(notifier.results, ['email retried', 'email sent']);
});

test('a refused recipient is not tried again, and the payout continues', async () => {
  await using server = await startMailServer({
    onRecipient: (address) => {
      throw smtpError(550, `5.1.1 <${address}> unknown`);
    },
  });
  const payout = await money.quoteAndCommit(await createRecipient(money), { notifyUser: true });
  const notifier = openTestNotifier(money, openTestEmail(server));
  await notifier.drain();
  await money.advance(60 * minuteMs);
  await notifier.drain();
  const [failed] = await listNotices(payout.payoutId);
  assert.deepEqual(failed, {
    state: 'failed',
    reason: 'the server answered 550 5.1.1 at RCPT TO',
    tries: 1,
    payout_status: 'PROCESSING',
  });
  assert.equal(server.tries.length, 1);
  assert.equal(await money.observe(payout, 'paid'), 'applied');
});

test('a server that hangs is given up in time, and others get their notices', async () => {
  await using server = await startMailServer({
    onRecipient: (address) =>
      address.startsWith('slow') ? new Promise<void>(() => undefined) : undefined,
  });
  const slow = await money.quoteAndCommit(
    await createRecipient(money, { email: 'slow@example.org' }),
    { notifyUser: true },
  );
  const quick = await money.quoteAndCommit(await createRecipient(money), { notifyUser: true });
  const notifier = openTestNotifier(money, openTestEmail(server, 1_500));
  await notifier.drain();
  const [waiting] = await listNotices(slow.payoutId);
  assert.equal(waiting?.state, 'waiting');
  assert.equal(waiting.reason, 'the server did not answer in time');
  const isSent = async () => (await listNotices(quick.payoutId))[0]?.state === 'sent';
  // Where the process stalls, the quick one is late as well, and comes at its next try beside the slow one.
  for (let tries = 0; tries < 5 && !(await isSent()); tries += 1) {
    await money.advance(minuteMs);
    await notifier.drain();
  }
  assert.ok(await isSent());
});

test('while no server answers, notices wait, and end after three days', async () => {
  const server = await startMailServer();
  const channel = openTestEmail(server);
  await server[Symbol.asyncDispose]();
  const payout = await money.quoteAndCommit(await createRecipient(money), { notifyUser: true });
  const notifier = openTestNotifier(money, channel);
  await notifier.drain();
  const [waiting] = await listNotices(payout.payoutId);
  assert.equal(waiting?.reason, 'the connection failed: ESOCKET');
  assert.equal(waiting.state, 'waiting');
  await money.advance(3 * 24 * 60 * minuteMs);
  await notifier.drain();
  await expireNotices(money.db.system);
  const [expired] = await listNotices(payout.payoutId);
  assert.deepEqual([expired?.state, expired?.tries], ['expired', waiting.tries]);
});

test('a notice whose payout has moved on is not sent, nor one that repeats another', async () => {
  await using server = await startMailServer();
  const notifier = openTestNotifier(money, openTestEmail(server));
  const owner = await createRecipient(money);
  const quick = await money.quoteAndCommit(owner, { notifyUser: true });
  await money.observe(quick, 'paid');
  const held = await money.quoteAndCommit(owner, { notifyUser: true });
  await notifier.drain();
  await money.observe(held, 'hold');
  await money.observe(held, 'accepted');
  await notifier.drain();
  const statesOf = async (id: string) => (await listNotices(id)).map(({ state }) => state);
  assert.deepEqual(await statesOf(quick.payoutId), ['skipped', 'sent']);
  assert.deepEqual(await statesOf(held.payoutId), ['sent', 'skipped']);
  assert.equal(server.mails.length, 2);
});

test('a return is distinguished from a cancellation', async () => {
  await using server = await startMailServer();
  const notifier = openTestNotifier(money, openTestEmail(server));
  const owner = await createRecipient(money);
  const returned = await money.quoteAndCommit(owner, { notifyUser: true });
  await money.observe(returned, 'paid');
  await money.observe(returned, 'returned');
  const canceled = await money.quoteAndCommit(owner, { notifyUser: true });
  await money.observe(canceled, 'rejected');
  await notifier.drain();
  const subjects = server.mails.map(({ subject = '' }) => subject).toSorted();
  assert.equal(subjects.length, 2);
  assert.match(subjects[0] ?? '', /was canceled$/);
  assert.match(subjects[1] ?? '', /was returned$/);
});

test('erased recipients get no notices', async () => {
  await using server = await startMailServer();
  const owner = await createRecipient(money);
  const payout = await money.quoteAndCommit(owner, { notifyUser: true });
  await money.rows(`update users set data_key = '', erased_at = now() where id = $1`, [
    owner.userId,
  ]);
  await openTestNotifier(money, openTestEmail(server)).drain();
  const [notice] = await listNotices(payout.payoutId);
  assert.deepEqual(
    [notice?.state, notice?.reason],
    ['skipped', 'the data of the recipient was erased'],
  );
  assert.deepEqual(server.mails, []);
});

test('two processes send every notice once', async () => {
  await using server = await startMailServer();
  const owner = await createRecipient(money);
  for (let count = 0; count < 90; count += 1) {
    await money.quoteAndCommit(owner, { notifyUser: true });
  }
  const one = openTestNotifier(money, openTestEmail(server));
  const other = openTestNotifier(money, openTestEmail(server), { db: money.connect() });
  await Promise.all([one.drain(), other.drain()]);
  assert.equal(server.mails.length, 90);
  assert.equal(new Set(server.mails.map(({ messageId }) => messageId)).size, 90);
  assert.deepEqual([one.errors, other.errors], [[], []]);
});

test('a process that stops gives back what it has not begun', async () => {
  const stopping = new AbortController();
  await using server = await startMailServer({ onMail: () => stopping.abort() });
  const owner = await createRecipient(money);
  const payouts = [];
  for (let count = 0; count < 12; count += 1) {
    payouts.push(await money.quoteAndCommit(owner, { notifyUser: true }));
  }
  const notifier = openTestNotifier(money, openTestEmail(server));
  await notifier.sendDue(stopping.signal);
  const left = await money.rows<{ tries: number; lease: Date | null }>(
    `select tries, lease_until as lease from notices where state = 'waiting'`,
  );
  assert.ok(left.length >= 12 - 8 && left.length < 12, `${left.length}`);
  assert.ok(left.some(({ tries, lease }) => tries === 0 && lease === null));
  await openTestNotifier(money, openTestEmail(server)).drain();
  assert.equal(new Set(server.mails.map(({ messageId }) => messageId)).size, 12);
});

test('an address that looks like several reaches one mailbox only', async () => {
  await using server = await startMailServer();
  const owner = await createRecipient(money, { email: 'a,b@example.org' });
  await money.quoteAndCommit(owner, { notifyUser: true });
  await openTestNotifier(money, openTestEmail(server)).drain();
  assert.ok(server.tries.every((address) => address === 'a,b@example.org'));
});
