import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { getCurrency } from '../../server/src/core/currency.ts';
import { formatAmount } from '../../server/src/core/money.ts';
import { createTestDatabase, SERVER_URL_VARIABLE } from '../../server/testing/setups/database.ts';
import { exact } from '../exact.ts';
import { runOutlay } from '../outlay-process.ts';
import { type CommitResult, describePayout, type Payout, payoutPath } from '../recipients.ts';
import { openBooks } from '../reliability-kit.ts';
import { type Api, createAccount, fund } from '../service.ts';
import { openBank } from './bank-files.ts';
import { endPassLeases } from './books.ts';
import { openEthereum } from './chains.ts';
import { createTargets, type Target } from './client.ts';
import type { Counterpart } from './counterpart.ts';
import { openPartner } from './partners.ts';
import { countPayments } from './payment-counts.ts';
import { findFreePort } from './processes.ts';
import { createSlot, openDemo, type Slot } from './service-slots.ts';

/**
 * The database is restored to an earlier moment under load, and clients repeat what they had asked for,
 * with the same identifiers. The partner's book, the bank's files and the chain are the judges: no
 * transfer is paid twice. It takes some minutes; `.ci/run rails` runs it.
 */

const transfersOfEachRail = 12;
const settleMs = 10_000;
const paidMsMax = 120_000;

type Transfer = {
  readonly transferId: string;
  readonly target: Target;
  readonly amountMinor: bigint;
  payoutToken: string;
  isAcknowledged: boolean;
};

type Scene = {
  readonly folder: string;
  readonly url: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly slot: Slot;
  readonly counterparts: readonly Counterpart[];
};

const closers: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const close of closers.toReversed()) await close().catch(() => undefined);
});

async function openScene(): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-drill-'));
  closers.push(async () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const database = await createTestDatabase();
  closers.push(database.drop);
  const port = await findFreePort();
  const clockFile = join(folder, 'ahead-ms');
  writeFileSync(clockFile, '0');
  const counterparts: Counterpart[] = [];
  for (const [name, open] of Object.entries({
    partner_a: (places: Parameters<typeof openBank>[0]) => openPartner('partner_a', places),
    bank_eu: openBank,
    ethereum: openEthereum,
  })) {
    const own = join(folder, name);
    mkdirSync(own, { recursive: true });
    const callbackUrl = `http://127.0.0.1:${port}/rails/${name}`;
    const counterpart = await open({ folder: own, callbackUrl, clockFile });
    closers.push(counterpart.close);
    counterparts.push(counterpart);
  }
  const railsFile = join(folder, 'rails.json');
  writeFileSync(railsFile, JSON.stringify({ rails: counterparts.map(({ config }) => config) }));
  const settings = {
    DATABASE_URL: database.url,
    OUTLAY_MASTER_KEY: randomBytes(32).toString('base64'),
    OUTLAY_RAILS: railsFile,
    OUTLAY_PUBLIC_URL: `http://127.0.0.1:${port}`,
    OUTLAY_QUOTE_SECONDS: '86400',
    OUTLAY_CRYPTO_QUOTE_SECONDS: '86400',
    OUTLAY_LOG_LEVEL: 'warn',
  };
  const slot = createSlot({ name: 'service', port, folder, settings });
  closers.push(slot.stop);
  return { folder, url: database.url, settings, slot, counterparts };
}

/** Statements of the server's own database, from which the service's one is copied and replaced. */
async function onServer(url: string, statements: readonly string[]): Promise<void> {
  const server = new URL(process.env[SERVER_URL_VARIABLE] ?? url);
  if (process.env[SERVER_URL_VARIABLE] === undefined) server.pathname = '/postgres';
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

async function endConnections(url: string): Promise<void> {
  await onServer(url, [
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${nameOf(url)}'`,
  ]);
}

/** A killed process would keep the passes of its rails for half a minute more. */
async function endLeases(url: string): Promise<void> {
  const books = openBooks(url);
  await endPassLeases(books);
  await books.close();
}

async function quote(api: Api, transfer: Transfer): Promise<void> {
  const { recipient } = transfer.target;
  const currency = getCurrency(transfer.target.destination.way.currency);
  const body = describePayout(recipient, {
    client_transfer_id: transfer.transferId,
    destination_amount: exact(formatAmount(transfer.amountMinor, currency)),
  });
  const reply = await api.post<Payout>(`/payout/${recipient.userToken}`, body);
  // A transfer that is committed here already names its payout.
  const token = reply.body['payout_token'];
  assert.ok(token !== undefined, reply.text);
  transfer.payoutToken = token;
}

async function commit(api: Api, transfer: Transfer): Promise<number> {
  const path = payoutPath(transfer.target.recipient, transfer.payoutToken);
  const reply = await api.put<CommitResult>(path);
  if (reply.status === 200 && reply.body.status === 'success') transfer.isAcknowledged = true;
  return reply.status;
}

/** As a client does that lost its answers: the same payout again, else a new quote of the transfer. */
async function repeat(api: Api, transfer: Transfer): Promise<void> {
  if ((await commit(api, transfer)) === 404) {
    await quote(api, transfer);
    assert.equal(await commit(api, transfer), 200);
  }
}

async function runCommand(
  { folder, settings }: Scene,
  words: readonly string[],
  operatorKey?: string,
): Promise<unknown> {
  const key = operatorKey === undefined ? {} : { OUTLAY_OPERATOR_KEY: operatorKey };
  const service = { dataDirectory: join(folder, 'service'), settings: { ...settings, ...key } };
  const { exitCode, printed, complaint } = await runOutlay(service, words);
  assert.equal(exitCode, 0, `${words.join(' ')}: ${complaint}`);
  return JSON.parse(printed);
}

type Shown = { state: string; recovery?: { reason: string }; rails?: unknown };

async function waitUntilListed(scene: Scene): Promise<Shown> {
  let shown: Shown | undefined;
  for (let look = 0; look < 40; look += 1) {
    shown = (await runCommand(scene, ['recovery', 'show'])) as Shown;
    if (shown.state === 'listed') return shown;
    await sleep(1000);
  }
  throw new Error(`the rails did not list their payments: ${JSON.stringify(shown?.rails)}`);
}

/** How many transfers were paid, once most of them are and no more come for a while. */
async function waitUntilPaid(
  { counterparts }: Scene,
  accountId: string,
  transfers: readonly Transfer[],
): Promise<number> {
  let paid = 0;
  for (let waitedMs = 0; waitedMs < paidMsMax; waitedMs += settleMs) {
    await sleep(settleMs);
    const counts = await countPayments({ counterparts, accountId, transfers });
    const now = [...counts.values()].filter((count) => count > 0).length;
    if (now === paid && now > transfers.length / 2) break;
    paid = now;
  }
  return paid;
}

test('a restore under load pays no recipient twice, although clients repeat everything', async () => {
  const scene = await openScene();
  const { slot, url } = scene;
  await slot.start();
  const account = await createAccount({ demo: await openDemo(scene.folder, slot) });
  const { api } = account;
  await fund(api, 'USD', '1000000');
  const targets = await createTargets(api, scene.counterparts);
  const transfers: Transfer[] = [];
  for (const { rail } of scene.counterparts) {
    const own = targets.filter(
      (target) => target.rail === rail && target.recipient.delivery !== undefined,
    );
    for (let number = 0; number < transfersOfEachRail; number += 1) {
      const target = own[number % own.length];
      assert.ok(target !== undefined);
      const { scale, isCrypto } = getCurrency(target.destination.way.currency);
      const unit = 10n ** BigInt(scale);
      const base = isCrypto
        ? target.destination.way.currency === 'ETH'
          ? unit / 100n
          : 5n * unit
        : 100n * unit;
      const amountMinor = base + BigInt(transfers.length);
      transfers.push({
        transferId: randomUUID(),
        target,
        amountMinor,
        payoutToken: '',
        isAcknowledged: false,
      });
    }
  }
  // A third is committed before the backup, a third only quoted, and a third comes after it.
  const third = (place: number) => transfers.filter((_, index) => index % 3 === place);
  for (const transfer of [...third(0), ...third(1)]) await quote(api, transfer);
  for (const transfer of third(0)) assert.equal(await commit(api, transfer), 200);

  const words = ['operator', 'create', '--name', 'bob', '--role', 'approver'];
  const second = (await runCommand(scene, words)) as { key: string };
  const backup = `${nameOf(url)}_backup`;
  await slot.kill();
  await endConnections(url);
  await onServer(url, [`create database ${backup} template ${nameOf(url)}`]);
  await endLeases(url);
  await slot.start();
  for (const transfer of third(2)) await quote(api, transfer);
  for (const transfer of [...third(1), ...third(2)]) {
    assert.equal(await commit(api, transfer), 200);
  }
  const accountId = account.credentials.account;
  const paidBefore = await waitUntilPaid(scene, accountId, transfers);
  assert.ok(paidBefore > transfers.length / 2, `only ${paidBefore} were paid before the restore`);

  await slot.kill();
  await endConnections(url);
  await onServer(url, [
    `drop database ${nameOf(url)} with (force)`,
    `alter database ${backup} rename to ${nameOf(url)}`,
  ]);
  await endLeases(url);
  await slot.start();
  const committed = transfers.find(({ payoutToken }) => payoutToken !== '');
  assert.ok(committed !== undefined);
  const refused = await api.put(payoutPath(committed.target.recipient, committed.payoutToken));
  assert.equal(refused.status, 503, 'it went on although the database is behind');
  assert.match(refused.text, /"recovering"/);
  const shown = await waitUntilListed(scene);
  assert.match(shown.recovery?.reason ?? '', /ahead|not known here|rail/);
  const release = [
    'recovery',
    'release',
    '--reason',
    'compared with the banks',
    '--accept-unlisted',
  ];
  assert.deepEqual(await runCommand(scene, release), { result: 'waiting' });
  assert.deepEqual(await runCommand(scene, release, second.key), { result: 'released' });
  for (let look = 0; look < 60; look += 1) {
    if (((await runCommand(scene, ['recovery', 'show'])) as Shown).state === 'none') break;
    await sleep(500);
  }

  for (const transfer of transfers) await repeat(api, transfer);
  await sleep(2 * settleMs);
  const twice = [
    ...(await countPayments({ counterparts: scene.counterparts, accountId, transfers })),
  ].filter(([, count]) => count > 1);
  assert.deepEqual(twice, [], 'paid more than once');
  const books = openBooks(url);
  closers.push(books.close);
  await books.assertSound();
  const [open] = await books.rows<{ count: number }>(
    `select count(*)::integer as count from payouts p
     where p.status = 'PROCESSING' and not exists (
       select from attempts a where a.payout_id = p.id)
       and not exists (select from exceptions e where e.payout_id = p.id and e.closed_at is null)`,
  );
  assert.equal(open?.count, 0, 'payouts without an attempt or an exception');
});
