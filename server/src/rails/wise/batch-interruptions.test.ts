import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Fault } from '../../../testing/counterparties/wise/wise-simulator.ts';
import { type HostGround, openHostGround } from '../../../testing/setups/rail.ts';
import {
  context,
  newInstruction,
  type openWiseRail,
  wisePayer,
} from '../../../testing/setups/wise.ts';
import {
  assertPaidOnce,
  batchGroups,
  sendAll,
  withGroups as withGroupsOn,
} from '../../../testing/setups/wise-batches.ts';

/** A group of payments is funded once, whatever interrupts the process or its calls. */

let ground: HostGround;
before(async () => {
  ground = await openHostGround();
});
after(() => ground.close());

type Run = Parameters<typeof withGroupsOn>[1];
const withGroups = (
  run: Run,
  options: Parameters<typeof openWiseRail>[1] = {},
  changes: object = {},
) => withGroupsOn(ground, run, { options, changes });

const calls: readonly (readonly [string, RegExp])[] = [
  ['creation', /^POST \/v3\/profiles\/\d+\/batch-groups$/],
  ['reading', /^GET \/v3\/profiles\/\d+\/batch-groups\//],
  ['transfer', /^POST \/v3\/profiles\/\d+\/batch-groups\/[^/]+\/transfers$/],
  ['transfer that is read', /^GET \/v1\/transfers\/\d+$/],
  ['completion', /^PATCH \/v3\/profiles\/\d+\/batch-groups\//],
  ['funding', /^POST \/v3\/profiles\/\d+\/batch-payments\//],
];
/** The first pass of a process reads the forms of every payer; here all payments go through one. */
const onePayer = { host: { payers: [wisePayer] } };
const breaks: readonly Fault['kind'][] = ['reset_before', 'reset_after', 'silent_after', 'garbage'];

for (const [name, on] of calls) {
  test(`a break before or after the ${name} pays each payment once`, async () => {
    for (const kind of breaks) {
      await withGroups(
        async ({ rail, wise, again }) => {
          const all = [newInstruction(), newInstruction(), newInstruction()];
          await sendAll({ rail }, all);
          wise.setFaults([{ on, kind, count: 1 }]);
          await rail.work?.(context);
          for (const instruction of all) {
            assert.equal((await rail.query(instruction, context)).outcome, 'accepted');
            assert.equal((await rail.cancel?.(instruction, context))?.outcome ?? '', 'accepted');
          }
          // Another process has nothing but the records.
          const next = await again({ batchGroups });
          for (let pass = 0; pass < 3; pass += 1) await next.work?.(context);
          assertPaidOnce({ wise }, all);
        },
        onePayer,
        { fundingSeconds: 0 },
      );
    }
  });
}

/** The process ends at its n-th exchange: before the request leaves, or after it was carried out. */
function dieAt(exchange: number, when: 'before' | 'after'): typeof fetch {
  let count = 0;
  return async (...request) => {
    count += 1;
    if (count > exchange || (count === exchange && when === 'before')) throw new Error('killed');
    const response = await fetch(...request);
    if (count < exchange) return response;
    await response.arrayBuffer();
    throw new Error('killed');
  };
}

for (const when of ['before', 'after'] as const) {
  test(`killed ${when} each of its calls, a pass is continued by the next process`, async () => {
    for (let exchange = 1; exchange <= 10; exchange += 1) {
      await withGroups(async ({ rail, wise, again }) => {
        const all = [newInstruction(), newInstruction()];
        await sendAll({ rail }, all);
        const mortal = await again({ batchGroups }, {}, { fetch: dieAt(exchange, when) });
        await mortal.work?.(context);
        const next = await again({ batchGroups });
        for (let pass = 0; pass < 3; pass += 1) await next.work?.(context);
        assertPaidOnce({ wise }, all);
      });
    }
  });
}

test('two processes at once fund a group once', () =>
  withGroups(
    async ({ rail, wise, again }) => {
      const all = Array.from({ length: 5 }, () => newInstruction());
      await sendAll({ rail }, all);
      const other = await again({ batchGroups, fundingSeconds: 60 });
      await Promise.all([rail.work?.(context), other.work?.(context)]);
      for (let pass = 0; pass < 3; pass += 1) await other.work?.(context);
      assertPaidOnce({ wise }, all);
    },
    {},
    { fundingSeconds: 60 },
  ));
