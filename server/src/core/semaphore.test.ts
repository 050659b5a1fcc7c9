import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createSemaphore } from './semaphore.ts';

test('no more run at once than there are slots, in order, also after a failure', async () => {
  const slots = createSemaphore(2);
  const begun: number[] = [];
  const endings: PromiseWithResolvers<void>[] = [];
  const runs = [0, 1, 2, 3].map(async (index) =>
    slots.run(async () => {
      begun.push(index);
      const ending = Promise.withResolvers<void>();
      endings[index] = ending;
      await ending.promise;
      return index;
    }),
  );
  await nextTurn();
  assert.deepEqual(begun, [0, 1]);
  endings[1]?.reject(new Error('failed'));
  await assert.rejects(runs[1] ?? Promise.resolve());
  await nextTurn();
  assert.deepEqual(begun, [0, 1, 2]);
  endings[0]?.resolve();
  endings[2]?.resolve();
  assert.deepEqual([await runs[0], await runs[2]], [0, 2]);
  endings[3]?.resolve();
  assert.equal(await runs[3], 3);
  assert.equal(await slots.run(async () => 4), 4);
});
