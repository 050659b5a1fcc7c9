import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DrillLoad, startLoad } from './load.ts';
import { makeDrillFolder, say } from './machine.ts';
import { assertPaidOnce } from './paid-once.ts';
import { type Cluster, openCluster, timing } from './patroni.ts';
import { openClient, operateDrilled, prepareService } from './service.ts';

/**
 * The primary of a Patroni cluster is killed again and again while clients pay, in turn its server alone and its
 * whole node. Nothing that was acknowledged may be lost, nothing paid twice by the partner's books, and the
 * service is never restarted. `.ci/drills/failover.sh` runs it in a folder that it removes.
 */

const killsCount = Number(process.argv[2] ?? 10);
assert.ok(killsCount >= 2, 'there must be a kill of each kind');
/** Of acknowledgements, before each kill. */
const steadyCount = 20;
const clientsCount = 6;
const gapMsMax = 60_000;

/** Resolves with how long it took from each kill to the next acknowledgement. */
async function killPrimaries(cluster: Cluster, load: DrillLoad): Promise<number[]> {
  const pausesMs: number[] = [];
  for (let kill = 1; kill <= killsCount; kill += 1) {
    await load.waitForMore(steadyCount);
    const isWholeNode = kill % 2 === 0;
    const name = await cluster.killPrimary(isWholeNode);
    const killedMs = performance.now();
    // Answers that were under way when the server died still arrive.
    await sleep(200);
    await load.waitForMore(1);
    const pauseMs = performance.now() - killedMs;
    pausesMs.push(pauseMs);
    const what = isWholeNode ? 'PostgreSQL and Patroni' : 'PostgreSQL';
    say(`kill ${kill}: ${what} of ${name}; acknowledged again after ${inSeconds(pauseMs)}`);
    cluster.revive(name);
    assert.notEqual(await cluster.waitUntilSynchronous(), name, 'the other node took over');
  }
  await load.waitForMore(steadyCount);
  return pausesMs;
}

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

async function main(): Promise<void> {
  const folder = makeDrillFolder();
  const cluster = await openCluster(folder);
  say(`Patroni is up: ${JSON.stringify(timing)}, synchronous_mode on, two nodes`);
  const service = await prepareService(folder, cluster.url);
  const { serve, work } = service;
  await serve.start();
  await work.start();
  const client = await openClient(service);
  const load = startLoad({ ...client, folder, slots: () => [serve], clientsCount });
  const pausesMs = await killPrimaries(cluster, load);
  const gapMs = load.longestGapMs();
  await load.stop();
  const { acknowledged, broken, failed, failure } = load.counts;
  say(`${acknowledged} acknowledged; settling`);
  const { api, credentials } = client.account;
  const accountId = credentials.account;
  await assertPaidOnce({ service, accountId, api, load, url: cluster.url });
  const verified = await operateDrilled(service, ['ledger', 'verify']);
  assert.equal(verified.exitCode, 0, verified.printed + verified.complaint);
  for (const slot of [serve, work]) {
    assert.ok(slot.isUp() && slot.startsMs.length === 1, `${slot.name} was restarted`);
  }
  assert.equal(failed, 0, `answers of an error other than 503: ${failure}`);
  assert.equal(broken, 0, 'connections of clients to the service were broken');
  assert.ok(gapMs < gapMsMax, `${inSeconds(gapMs)} without an acknowledgement`);
  say(`${killsCount} kills of the primary: 0 of ${acknowledged} lost, 0 paid twice, ledger sound,`);
  say('no process of the service restarted');
  const [single, whole] = [0, 1].map((place) =>
    Math.max(...pausesMs.filter((_, index) => index % 2 === place)),
  );
  say(`longest time without an acknowledgement: ${inSeconds(gapMs)}`);
  say(
    `  after a kill of PostgreSQL: ${inSeconds(single ?? 0)}; of the node: ${inSeconds(whole ?? 0)}`,
  );
  await service.close();
  await cluster.close();
}

await main();
