import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCurrency } from '../../server/src/core/currency.ts';
import { formatAmount } from '../../server/src/core/money.ts';
import { type ExactNumber, exact } from '../exact.ts';
import { openClock } from '../rails-trial/clock.ts';
import type { Entry } from '../rails-trial/journal.ts';
import { countPayments } from '../rails-trial/payment-counts.ts';
import { settleMinutes } from '../rails-trial/settle.ts';
import { type CommitResult, describePayout, type Payout, payoutPath } from '../recipients.ts';
import { openBooks } from '../reliability-kit.ts';
import { ok } from '../service.ts';
import { type DrillLoad, startLoad } from './load.ts';
import { makeDrillFolder, say, waitFor } from './machine.ts';
import { type BackedUpServer, openBackedUpServer } from './pgbackrest.ts';
import {
  type DrilledService,
  type Funded,
  openClient,
  operateDrilled,
  prepareService,
} from './service.ts';

/**
 * A backup under load with WAL archiving, a restore to a moment, and the recovery to its release. The
 * partner's books say that no transfer is paid twice although clients repeat everything.
 * `.ci/drills/restore.sh` runs it in a folder that it removes.
 */

const acknowledgedAtOnce = 60;
const clientsCount = 6;

type Scene = {
  readonly folder: string;
  readonly server: BackedUpServer;
  readonly service: DrilledService;
  readonly client: Funded;
};

const figures: string[] = [];

async function measure<T>(what: string, work: () => T | Promise<T>): Promise<T> {
  const startMs = performance.now();
  const result = await work();
  const text = `${what}: ${((performance.now() - startMs) / 1000).toFixed(1)} s`;
  figures.push(text);
  say(text);
  return result;
}

const inMib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

async function openScene(): Promise<Scene> {
  const folder = makeDrillFolder();
  const server = await openBackedUpServer(folder);
  const prepared = await prepareService(folder, server.url, {
    OUTLAY_CHECKPOINTS: join(folder, 'checkpoints'),
    OUTLAY_CHECKPOINT_SECONDS: '1',
  });
  await prepared.serve.start();
  await prepared.work.start();
  return { folder, server, service: prepared, client: await openClient(prepared) };
}

/** Payouts before the backup, while it runs, up to the moment, and after it. */
async function payAndBackUp({ folder, server, service, client }: Scene) {
  const slots = () => [service.serve];
  const load = startLoad({ ...client, folder, slots, clientsCount });
  await load.waitForMore(acknowledgedAtOnce);
  const { repositoryBytes, databaseBytes } = await measure('full backup under load', () =>
    server.backUp(),
  );
  await load.waitForMore(acknowledgedAtOnce);
  const known = listAcknowledged(load);
  const moment = await server.readMoment();
  await load.waitForMore(acknowledgedAtOnce);
  await load.stop();
  // What is under way at the partner is paid by then.
  await sleep(2_000);
  figures.push(
    `size: database ${inMib(databaseBytes)}, backup ${inMib(repositoryBytes)}, ` +
      `WAL archive ${inMib(server.measureArchive())} for ${load.counts.acknowledged} payouts`,
  );
  return { load, known, moment };
}

const listAcknowledged = ({ journal }: DrillLoad): string[] =>
  journal.entries.flatMap(({ acknowledged }) => acknowledged ?? []);

/** The number of the newest event, as a client has it. */
async function readToEnd({ account: { api } }: Funded): Promise<number> {
  let after = 0;
  for (;;) {
    const events = ok(await api.get<{ sequence: ExactNumber }[]>(`/events?after=${after}`));
    const last = events.at(-1);
    if (last === undefined) return after;
    after = Number(last.sequence.text);
  }
}

/** A client that has read further than the restored database is refused, and learns where to continue. */
async function assertEventsGoOn({ account: { api } }: Funded, seen: number): Promise<void> {
  const refused = await api.get(`/events?after=${seen}`);
  assert.equal(refused.status, 410, refused.text);
  const [, last = '', next = ''] = /at most (\d+), or at least (\d+)/.exec(refused.text) ?? [];
  assert.ok(Number(last) < seen && seen < Number(next), refused.text);
  const [restored] = ok(await api.get<{ type: string }[]>(`/events?after=${last}`));
  assert.equal(restored?.type, 'account.restored');
  say(`events: ${seen - Number(last)} that the client had are void`);
}

async function restore({ server, service }: Scene, moment: string): Promise<void> {
  await service.serve.kill();
  await service.work.kill();
  await server.stop();
  say(`restoring to ${moment}`);
  await measure('restore of the files', () => server.restore(moment));
  await measure('replay of the WAL up to the moment', () => server.startRestored());
}

/** Everything acknowledged before the moment is there; the checkpoints show what came after it. */
async function assertRestored({ service, server }: Scene, known: readonly string[]): Promise<void> {
  const books = openBooks(server.url);
  const rows = await books.rows<{ count: number }>(
    'select count(*)::integer as count from payouts where id = any($1) and committed_at is not null',
    [known],
  );
  await books.close();
  assert.equal(rows[0]?.count, known.length, 'payouts acknowledged before the moment');
  const { exitCode, printed } = await operateDrilled(service, ['ledger', 'verify']);
  const { chain } = JSON.parse(printed) as {
    chain: { findings: { code: string; chain: string; place: string; detail: string }[] };
  };
  assert.equal(exitCode, 1, 'the checkpoints do not show that the end is missing');
  assert.deepEqual([...new Set(chain.findings.map(({ code }) => code))], ['end_missing']);
  for (const finding of chain.findings.slice(0, 2)) {
    say(`ledger verify: ${finding.chain}, place ${finding.place}: ${finding.detail}`);
  }
}

type Shown = { state: string; recovery?: { reason: string } };

async function runCommand(service: DrilledService, words: readonly string[]): Promise<unknown> {
  const { exitCode, printed, complaint } = await operateDrilled(service, words);
  assert.equal(exitCode, 0, `${words.join(' ')}: ${complaint}`);
  return JSON.parse(printed);
}

/** Commits are refused until two people have released the recovery. */
async function recover({ service, client }: Scene, entry: Entry | undefined): Promise<void> {
  // The worker first: it finds the evidence, and a process that serves reads its finding.
  await service.work.start();
  await service.serve.start();
  assert.ok(entry !== undefined);
  const target = findTarget(client, entry);
  const path = payoutPath(target.recipient, `payout_${entry.payoutIds[0] ?? ''}`);
  const refused = await client.account.api.put(path);
  assert.equal(refused.status, 503, refused.text);
  assert.match(refused.text, /"recovering"/);
  const show = async () => (await runCommand(service, ['recovery', 'show'])) as Shown;
  await waitFor('the list of the partner', async () => (await show()).state === 'listed');
  say(`recovery: ${(await show()).recovery?.reason}`);
  const release = ['recovery', 'release', '--reason', 'compared with the books of the partner'];
  const creation = ['operator', 'create', '--name', 'bob', '--role', 'approver'];
  const { key } = (await runCommand(service, creation)) as { key: string };
  assert.deepEqual(await runCommand(service, release), { result: 'waiting' });
  const asBob = { ...service, settings: { ...service.settings, OUTLAY_OPERATOR_KEY: key } };
  assert.deepEqual(await runCommand(asBob, release), { result: 'released' });
  await waitFor('the end of the recovery', async () => (await show()).state === 'none');
  const isAccepted = async () => (await client.account.api.put(path)).status !== 503;
  await waitFor('commits are accepted again', isAccepted);
}

function findTarget({ targets }: Funded, { destination }: Entry) {
  const target = targets.find((one) => one.destination === destination);
  assert.ok(target !== undefined);
  return target;
}

/** As a client does that lost its answers: the same payout again, else a new quote of the transfer. */
async function repeat(client: Funded, entry: Entry): Promise<void> {
  const { api } = client.account;
  const { recipient } = findTarget(client, entry);
  const [payoutId = ''] = entry.payoutIds;
  const first = await api.put<CommitResult>(payoutPath(recipient, `payout_${payoutId}`));
  if (first.status !== 404) return void ok(first);
  const amount = formatAmount(entry.amountMinor, getCurrency(entry.currency));
  const body = describePayout(recipient, {
    client_transfer_id: entry.transferId,
    destination_amount: exact(amount),
  });
  const quote = ok(await api.post<Payout>(`/payout/${recipient.userToken}`, body));
  const commit = await api.put<CommitResult>(payoutPath(recipient, quote['payout_token'] ?? ''));
  assert.equal(ok(commit).status, 'success');
}

async function assertPaidOnce(scene: Scene, entries: readonly Entry[]): Promise<void> {
  const { service, client, server } = scene;
  const counterparts = [service.partner];
  const { api, credentials } = client.account;
  const accountId = credentials.account;
  const books = openBooks(server.url);
  const clock = await openClock(service.clockFile, () => api);
  await settleMinutes({ books, accountId, clock, counterparts, say });
  const transfers = entries.map((entry) => ({ ...entry, target: findTarget(client, entry) }));
  const counts = [...(await countPayments({ counterparts, accountId, transfers }))];
  assert.deepEqual(
    counts.filter(([, count]) => count !== 1),
    [],
    'transfers that were not paid exactly once',
  );
  await books.assertSound();
  await books.close();
  say(`${counts.length} transfers, each paid once by the partner's books`);
}

async function main(): Promise<void> {
  const scene = await openScene();
  const { load, known, moment } = await payAndBackUp(scene);
  const { entries } = load.journal;
  const lost = listAcknowledged(load).length - known.length;
  const seen = await readToEnd(scene.client);
  await restore(scene, moment);
  await assertRestored(scene, known);
  await measure('recovery, from the start of the service to its release', () =>
    recover(scene, entries[0]),
  );
  await assertEventsGoOn(scene.client, seen);
  for (const entry of entries) await repeat(scene.client, entry);
  await assertPaidOnce(scene, entries);
  say(`restored to a moment: ${known.length} acknowledged before it, 0 lost; ${lost} came after`);
  for (const text of figures) say(`  ${text}`);
  await scene.service.close();
  await scene.server.close();
}

await main();
