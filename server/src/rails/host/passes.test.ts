import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTestHost, type TestHost } from '../../../testing/setups/rail.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import { resume, stop } from '../../controls/freezes.ts';
import type { Rail } from '../contract/contract.ts';
import { runPass } from './passes.ts';

let host: TestHost;
before(async () => {
  host = await openTestHost({ name: 'any' });
});
after(() => host.close());

function createRail(name: string, work: NonNullable<Rail['work']>): Rail {
  const nothing = async () => ({ outcome: 'unknown', reason: 'no_answer' }) as const;
  return {
    name,
    kind: 'test',
    reference: { lengthMax: 64, charset: /./ },
    pace: { concurrencyMax: 1, perSecondMax: null },
    dailyLimits: {},
    companies: [],
    payers: [],
    send: nothing,
    query: nothing,
    work,
  };
}

describe("a pass over a rail's work", () => {
  it('has one process inside at a time', async () => {
    let inside = 0;
    let most = 0;
    let passes = 0;
    const rail = createRail('one', async () => {
      inside += 1;
      passes += 1;
      most = Math.max(most, inside);
      await host.store.get('any', 'thing');
      inside -= 1;
      return undefined;
    });
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(
        Array.from({ length: 4 }, () => runPass(host.db, rail, { nowMs: () => 0 })),
      );
    }
    assert.equal(most, 1);
    assert.ok(passes >= 5);
  });

  it('answers how long the rail wants to wait', async () => {
    const rail = createRail('waits', async () => 5_000);
    assert.equal(await runPass(host.db, rail, { nowMs: () => 2_000 }), 3_000);
    assert.equal(await runPass(host.db, rail, { nowMs: () => 9_000 }), 0);
  });

  it('is free again after one that failed', async () => {
    let isBroken = true;
    const rail = createRail('fails', async () => {
      if (isBroken) throw new Error('broken');
      return 0;
    });
    await assert.rejects(runPass(host.db, rail, { nowMs: () => 0 }), /broken/);
    isBroken = false;
    assert.equal(await runPass(host.db, rail, { nowMs: () => 0 }), 0);
  });

  it('of a dead process is taken over when its lease has ended', async () => {
    const text = `
      insert into rail_passes (rail, holder, lease_until)
      values ('dead', gen_random_uuid(), clock_timestamp() + interval '1 hour')`;
    await readRows(host.db.system, { name: '', text });
    const rail = createRail('dead', async () => 0);
    assert.equal(await runPass(host.db, rail, { nowMs: () => 0 }), undefined);
    await readRows(host.db.system, {
      name: '',
      text: `update rail_passes set lease_until = clock_timestamp() where rail = 'dead'`,
    });
    assert.equal(await runPass(host.db, rail, { nowMs: () => 0 }), 0);
  });

  it('ends within a second of a stop of its rail, and none begins until it is lifted', async () => {
    let passes = 0;
    let begun: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const rail = createRail('stoppable', async ({ signal }) => {
      passes += 1;
      begun();
      await once(signal, 'abort');
      throw signal.reason;
    });
    const running = runPass(host.db, rail, { nowMs: () => 0 });
    await started;
    const by = { by: 'ada', reason: 'a test' };
    const { freeze } = await stop(host.db, { scope: 'rail', rail: 'stoppable' }, by);
    // The answer of the stop has waited for it.
    assert.equal(await Promise.race([running, sleep(0, 'under way')]), undefined);
    await runPass(host.db, rail, { nowMs: () => 0 });
    assert.equal(passes, 1);
    await resume(host.db, freeze.id, by);
    const ending = new AbortController();
    const resumed = runPass(host.db, rail, { nowMs: () => 0, signal: ending.signal });
    while (passes < 2) await sleep(5);
    ending.abort();
    await assert.rejects(resumed, /aborted/);
  });
});
