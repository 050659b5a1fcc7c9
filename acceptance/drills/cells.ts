import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ended } from '../outlay-process.ts';
import { runOutlay } from '../outlay-process.ts';
import { findFreePort } from '../rails-trial/processes.ts';
import { Api, ok, type Reply } from '../service.ts';
import { verifyWith } from '../webhook-kit.ts';
import type { Received } from '../webhook-receiver.ts';
import {
  type Cell,
  type Client,
  closeCell,
  killCell,
  openCell,
  openCellClient,
  payThroughEntry,
  reviveCell,
} from './cell.ts';
import { type Entry, startEntry } from './entry.ts';
import type { DrillLoad } from './load.ts';
import { makeDrillFolder, say, waitFor } from './machine.ts';
import { assertPaidOnce } from './paid-once.ts';
import { operateDrilled } from './service.ts';

/**
 * Two cells, each with a PostgreSQL server of its own, behind the entry of deploy/cells. Clients of both
 * pay through it; what belongs to one cell is unknown in the other; one dies whole while the other goes on
 * without a failed request, and comes back. `.ci/drills/cells.sh` runs it in a folder that it removes.
 */

const steadyCount = 15;
/** By which this process and the partners find the cells (`.ci/drills/cells.sh`). */
const preload = join(import.meta.dirname, 'loopback-names.mjs');

type Pair = readonly [Cell, Cell];

/** Of the entry, also in the answers of the service. */
const requestId = /^req_[0-9a-f-]{36}$/;

type Problem = { code: string; request_id: string };

/** What belongs to no cell, or to another one. */
async function assertApart([one, other]: Pair, [client]: readonly Client[]): Promise<void> {
  assert.ok(client !== undefined);
  const { api, credentials } = client.account;
  const stranger = new Api(other.publicUrl, api.token);
  const refused = await stranger.get<Problem>('/account/balance');
  assert.equal(refused.status, 401, 'a token in the other cell');
  assert.match(refused.body.request_id, requestId);
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: credentials.client_id,
    client_secret: credentials.client_secret,
  }).toString();
  const form = { 'content-type': 'application/x-www-form-urlencoded', authorization: [] };
  assert.equal((await stranger.post('/oauth2/token', body, form)).status, 401);
  const { access_token: token } = ok(
    await api.post<{ access_token: string }>('/oauth2/token', body, form),
  );
  ok(await api.withToken(token).get('/account/balance'));
  assert.equal((await stranger.withToken(token).get('/account/balance')).status, 401);
  const { port } = new URL(one.publicUrl);
  const nowhere = new Api(`http://staging-api.eu2.pay.example:${port}`, api.token);
  const misdirected = await nowhere.get<Problem>('/account/balance');
  assert.deepEqual([misdirected.status, misdirected.body.code], [421, 'misdirected_request']);
  assert.match(misdirected.body.request_id, requestId);
  assert.equal((await api.get('/metrics')).status, 404);
  for (const { publicUrl } of [one, other]) {
    const path = '/.well-known/oauth-authorization-server';
    const metadata = await new Api(publicUrl, '').get<{ issuer: string }>(path);
    assert.equal(ok(metadata).issuer, publicUrl);
  }
}

type Event = { type: string; data: Record<string, unknown> };

const statusOf = ({ body }: Received): unknown => body.data['status'];

/** A payout of the load from its webhook to its receipt and its page, all at the cell's own host. */
async function assertLifeOfPayout(cell: Cell, other: Cell, client: Client): Promise<void> {
  const { receiver, endpoint, account } = client;
  const { api } = account;
  await receiver.until(
    () => receiver.accepted().some((one) => statusOf(one) === 'COMPLETED'),
    `a completed payout in ${cell.name}`,
  );
  const completed = receiver.accepted().find((one) => statusOf(one) === 'COMPLETED');
  assert.ok(completed !== undefined);
  verifyWith(endpoint.secret, completed);
  const { payout_token: payoutToken, user_token: userToken } = completed.body.data as Record<
    string,
    string
  >;
  const path = `/payout/${userToken}/${payoutToken}`;
  const after = completed.body.sequence - 1;
  const [event] = ok(await api.get<Event[]>(`/events?after=${after}`));
  assert.equal(event?.data['payout_token'], payoutToken);
  const pdf = await api.get(path, { accept: 'application/pdf' });
  assert.equal(pdf.bytes.subarray(0, 5).toString(), '%PDF-', pdf.text);
  const stranger = new Api(other.publicUrl, '');
  const keys = await Promise.all(
    [api, stranger].map((one) =>
      one.get('/.well-known/receipt-key.pem', { accept: '*/*', authorization: [] }),
    ),
  );
  assert.notEqual(keys[0]?.text, keys[1]?.text);
  const link = ok(
    await api.post<{ url: string }>(`/user/${userToken}/link`, {
      purpose: 'payout_status',
      payout_token: payoutToken,
    }),
  );
  assert.ok(link.url.startsWith(`${cell.publicUrl}/recipient/`), link.url);
  const page = await fetch(link.url, { headers: { accept: 'text/html' } });
  assert.equal(page.status, 200);
  const elsewhere = await fetch(link.url.replace(cell.publicUrl, other.publicUrl));
  assert.equal(elsewhere.status, 404, 'a link in the other cell');
}

/** One cell dies with its server while the other goes on. */
async function assertOneDies([one, other]: Pair, loads: readonly DrillLoad[]): Promise<void> {
  const [ofOne, ofOther] = loads;
  assert.ok(ofOne !== undefined && ofOther !== undefined);
  await Promise.all(loads.map((load) => load.waitForMore(steadyCount)));
  await killCell(one);
  say(`${one.name} killed: PostgreSQL, API and worker`);
  const dead = new Api(one.publicUrl, '');
  let reply: Reply<Problem> | undefined;
  await waitFor('the entry to answer for the dead cell', async () => {
    reply = await dead.get<Problem>('/account/balance');
    return reply.status === 503;
  });
  assert.equal(reply?.body.code, 'unavailable');
  assert.match(reply.body.request_id, requestId);
  assert.equal(reply.headers['retry-after'], '2');
  await ofOther.waitForMore(steadyCount * 2);
  say(`${other.name} has acknowledged ${steadyCount * 2} more; ${one.name} starts again`);
  await reviveCell(one);
  await Promise.all(loads.map((load) => load.waitForMore(steadyCount)));
  say(`${one.name} acknowledges again`);
}

const printed = ({ exitCode, printed: text, complaint }: Ended, expected: number): string => {
  assert.equal(exitCode, expected, text + complaint);
  return text;
};

/** The cells describe themselves; a machine without access to either compares. */
async function assertComparable(folder: string, [one, other]: Pair): Promise<void> {
  const salt = randomBytes(32).toString('hex');
  const describe = async (cell: Cell, file: string, changes: Record<string, string> = {}) => {
    const service = { ...cell.service, settings: { ...cell.service.settings, ...changes } };
    const words = ['cell', 'describe', '--salt', salt];
    const path = join(folder, file);
    writeFileSync(path, printed(await operateDrilled(service, words), 0));
    return path;
  };
  const compare = (...files: string[]) =>
    runOutlay(
      { dataDirectory: join(folder, 'auditor'), settings: { NODE_OPTIONS: `--import=${preload}` } },
      ['doctor', '--cells', files.join()],
    );
  const taken = {
    OUTLAY_RAILS: one.service.settings['OUTLAY_RAILS'] ?? '',
    OUTLAY_PUBLIC_URL: other.publicUrl.replace(other.name, one.name),
  };
  const [ofOne, ofOther, shared] = await Promise.all([
    describe(one, 'one.json'),
    describe(other, 'other.json'),
    describe(other, 'shared.json', taken),
  ]);
  const found = printed(await compare(ofOne, ofOther), 0);
  for (const line of found.trimEnd().split('\n')) say(line);
  const refused = printed(await compare(ofOne, shared), 1);
  assert.match(refused, /share what the partner knows us by of rail partner/);
  assert.match(refused, /more than one cell has the host name staging-api\.eu1\.pay\.example/);
  assert.match(refused, /us1: http\S+ is answered by another installation/);
}

async function assertSound(cell: Cell, client: Client, load: DrillLoad): Promise<void> {
  const { service, server, publicUrl } = cell;
  const { api, credentials } = client.account;
  const accountId = credentials.account;
  await assertPaidOnce({
    service,
    accountId,
    api: new Api(publicUrl, api.token),
    load,
    url: server.url,
  });
  printed(await operateDrilled(service, ['ledger', 'verify']), 0);
  await waitFor('callbacks through the entry', () => service.partner.isQuiet());
}

function assertRouted(entry: Entry, cells: Pair): void {
  const log = entry.readLog();
  for (const { name } of cells) {
    const own = log.filter(({ cell }) => cell === name);
    say(`${own.length} requests to ${name}`);
    assert.ok(own.length > 100);
  }
  const [, { name }] = cells;
  const failed = log.filter(({ cell, status }) => cell === name && status >= 500);
  assert.deepEqual(failed, [], `${name} had failures`);
}

async function main(): Promise<void> {
  const folder = makeDrillFolder();
  const entryPort = await findFreePort();
  const cells = await Promise.all([
    openCell(folder, { name: 'eu1', entryPort }),
    openCell(folder, { name: 'us1', entryPort }),
  ]);
  const [one, other] = cells;
  const addressOf = ({ service }: Cell) => new URL(service.serve.baseUrl).host;
  const entry = await startEntry(folder, {
    port: entryPort,
    addresses: { eu1: addressOf(one), us1: addressOf(other) },
  });
  await waitFor('both cells behind the entry', async () => {
    const ready = await Promise.all(
      cells.map(({ publicUrl }) => new Api(publicUrl, '').get('/health/ready')),
    );
    return ready.every(({ status }) => status === 200);
  });
  say('two cells, two servers of PostgreSQL, one entry');
  const clients = [await openCellClient(one), await openCellClient(other)] as const;
  const loads = cells.map((cell, place) => payThroughEntry(cell, clients[place] ?? clients[0]));
  await Promise.all(loads.map((load) => load.waitForMore(steadyCount)));
  await assertApart(cells, clients);
  await assertLifeOfPayout(one, other, clients[0]);
  await assertLifeOfPayout(other, one, clients[1]);
  say('payouts lived in both through the entry, and nothing of one is known in the other');
  await assertComparable(folder, cells);
  await assertOneDies(cells, loads);
  for (const load of loads) await load.stop();
  const parts = cells.flatMap((cell, place) => {
    const [load, client] = [loads[place], clients[place]];
    return load === undefined || client === undefined ? [] : [{ cell, load, client }];
  });
  await Promise.all(parts.map(({ cell, client, load }) => assertSound(cell, client, load)));
  for (const { cell, load } of parts) {
    const { acknowledged, unavailable, broken, failed } = load.counts;
    say(
      `${cell.name}: ${acknowledged} acknowledged, 0 lost, 0 paid twice; ` +
        `${unavailable} answers of 503, ${failed} of 502, ${broken} connections broken`,
    );
  }
  const { broken, failed, unavailable, failure } = loads[1]?.counts ?? {};
  assert.deepEqual([broken, failed, unavailable], [0, 0, 0], failure);
  assertRouted(entry, cells);
  for (const { receiver } of clients) await receiver[Symbol.asyncDispose]();
  await entry.close();
  await Promise.all(cells.map(closeCell));
  say('one of two cells died and came back; the other had 0 failed requests');
}

await main();
