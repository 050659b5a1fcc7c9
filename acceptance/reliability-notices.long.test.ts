import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../server/testing/setups/database.ts';
import { type Mail, type MailServer, startMailServer } from '../server/testing/setups/mail.ts';
import { findFreePort } from './rails-trial/processes.ts';
import {
  createRecipient,
  type DeliveryCase,
  deliveryCases,
  pay,
  type Recipient,
} from './recipients.ts';
import { type Books, openBooks } from './reliability-kit.ts';
import { type Api, advance, createAccount, type Service, startService } from './service.ts';
import { stopProcess } from './service-process.ts';
import { eventually } from './webhook-kit.ts';

/** Notices to recipients over a real mail server, and the receipts that they link to. */

let database: TestDatabase;
let books: Books;
let mailServer: MailServer;
let settings: Record<string, string>;
let service: Service;
let api: Api;
/** What processes wrote that have ended. */
let formerOutput = '';
let onMail: (mail: Mail) => void = () => undefined;

before(async () => {
  database = await createTestDatabase();
  books = openBooks(database.url);
  mailServer = await startMailServer({ onMail: (mail) => onMail(mail) });
  const port = await findFreePort();
  settings = {
    DATABASE_URL: database.url,
    OUTLAY_MASTER_KEY: randomBytes(32).toString('base64'),
    PORT: String(port),
    OUTLAY_PUBLIC_URL: `http://127.0.0.1:${port}`,
    OUTLAY_SMTP_URL: mailServer.url,
    OUTLAY_NOTICE_FROM: 'no-reply@outlay.example',
    OUTLAY_LOG_EVERY: '1',
    OUTLAY_LOG_LEVEL: 'trace',
  };
  service = await startService({ isProcess: true, settings });
  api = (await createAccount(service, { USD: '100000' })).api;
});
after(async () => {
  await service.stop();
  await mailServer[Symbol.asyncDispose]();
  await books.close();
  await database.drop();
});

async function createNamed(
  delivery: DeliveryCase,
  person: Record<string, string>,
): Promise<Recipient> {
  const recipient = await createRecipient(api, delivery);
  assert.equal((await api.put(`/user/${recipient.userToken}`, person)).status, 200);
  return recipient;
}

const mailsTo = (address: string): Mail[] =>
  mailServer.mails.filter(({ envelope }) => envelope.to.includes(address));
const waitForMails = (address: string, count: number): Promise<Mail[]> =>
  eventually(
    async () => mailsTo(address),
    (mails) => mails.length >= count,
  );

const links: string[] = [];

function findLink({ text = '' }: Mail): URL {
  const link = new URL(/http:\/\/127\.0\.0\.1:\d+\/receipt\/\S+/.exec(text)?.[0] ?? '');
  links.push(link.pathname);
  return link;
}

test('a recipient with notify_user gets a notice in their language, and opens the receipt', async () => {
  const email = 'hanako.yamada@example.jp';
  const recipient = await createNamed(deliveryCases.cash, {
    email,
    language: 'ja',
    timezone: 'Asia/Tokyo',
    first_name: '花子',
    last_name: '山田',
  });
  const payout = await pay(api, recipient, { notify_user: true });
  const [committed] = await waitForMails(email, 1);
  assert.ok(committed !== undefined);
  assert.match(committed.subject ?? '', /^TEST: .*の送金があります$/);
  assert.match(committed.text ?? '', /山田花子 様/);
  assert.match(committed.text ?? '', /JST|GMT\+9/);
  assert.ok(committed.text?.includes(payout.payout_token));
  const link = findLink(committed);
  const receipt = await fetch(link);
  assert.equal(receipt.status, 200);
  assert.equal(receipt.headers.get('content-type'), 'application/pdf');
  assert.equal(receipt.headers.get('cache-control'), 'no-store');
  assert.equal(receipt.headers.get('referrer-policy'), 'no-referrer');
  assert.match(Buffer.from(await receipt.arrayBuffer()).toString('latin1'), /^%PDF/);
  await advance(api, 3600);
  const ready = await eventually(
    async () => mailsTo(email).find(({ subject = '' }) => subject.endsWith('受け取れます')),
    (mail) => mail !== undefined,
  );
  assert.ok(ready !== undefined);
});

test('a receipt link opens one receipt for 30 days, and no other', async () => {
  const email = 'link@example.org';
  const recipient = await createNamed(deliveryCases.bank, { email });
  await pay(api, recipient, { notify_user: true });
  const [mail] = await waitForMails(email, 1);
  const link = findLink(mail ?? assert.fail());
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(new URL(path, service.baseUrl))).status;
  const token = link.pathname.slice('/receipt/'.length);
  for (let place = 0; place < token.length; place += 7) {
    const changed = token[place] === 'A' ? 'B' : 'A';
    const forged = token.slice(0, place) + changed + token.slice(place + 1);
    assert.equal(await statusOf(`/receipt/${forged}`), 404, `character ${place}`);
  }
  assert.equal(await statusOf('/receipt/x'), 404);
  assert.equal(await statusOf('/receipt/'), 404);
  assert.equal((await fetch(link, { method: 'POST' })).status, 405);
  // Mail programs add parameters.
  assert.equal(await statusOf(`${link.pathname}?utm_source=mail`), 200);
  await advance(api, 31 * 86_400);
  assert.equal(await statusOf(link.pathname), 404);
});

test('without notify_user no notice is sent', async () => {
  const email = 'quiet@example.org';
  const recipient = await createNamed(deliveryCases.bank, { email });
  await pay(api, recipient, { notify_user: false });
  await pay(api, recipient);
  const other = 'loud@example.org';
  await pay(api, await createNamed(deliveryCases.bank, { email: other }), { notify_user: true });
  await waitForMails(other, 1);
  assert.deepEqual(mailsTo(email), []);
});

test('a kill between acceptance and record sends at most one more, as the same message', async () => {
  const email = 'killed@example.org';
  const recipient = await createNamed(deliveryCases.bank, { email });
  const stopped = Promise.withResolvers<void>();
  onMail = ({ envelope }) => {
    if (!envelope.to.includes(email)) return;
    // The server's 250 is on its way to a process that no longer reads it.
    service.process?.kill('SIGSTOP');
    stopped.resolve();
  };
  const payout = await pay(api, recipient, { notify_user: true });
  await stopped.promise;
  await waitForMails(email, 1);
  onMail = () => undefined;
  if (service.process !== undefined) await stopProcess(service.process, 'SIGKILL');
  formerOutput = service.output();
  await service.stop();
  service = await startService({ isProcess: true, settings });
  // The lease of the dead process has run out.
  await books.rows(`update notices set lease_until = now() where state = 'waiting'`);
  const id = payout.payout_token.slice('payout_'.length);
  const states = await eventually(
    () =>
      books.rows<{ state: string; tries: number }>(
        `select state, tries from notices where payout_id = $1 and payout_status = 'PROCESSING'`,
        [id],
      ),
    (rows) => rows.every(({ state }) => state !== 'waiting'),
  );
  assert.equal(states.length, 1);
  const about = mailsTo(email).filter(({ subject = '' }) => /is sending you/.test(subject));
  assert.ok(about.length >= 1 && about.length <= 2, `${about.length} mails`);
  assert.equal(new Set(about.map(({ messageId }) => messageId)).size, 1);
});

test('metrics count notices and show how long the oldest waits', async () => {
  const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text();
  const labels = 'environment="staging",channel="email"';
  assert.match(metrics, new RegExp(`outlay_notices_total\\{${labels},result="sent"\\} [1-9]`));
  assert.match(metrics, /# TYPE outlay_notice_oldest_waiting_seconds gauge/);
});

test('addresses, names, codes and links never reach the log', async () => {
  const output = formerOutput + service.output();
  assert.match(output, /getPayout|\/payout/);
  for (const text of ['example.jp', 'example.org', '花子', ...links]) {
    assert.ok(!output.includes(text), text);
  }
});
