import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLoops } from './loops.ts';

test('an error of a loop is reported with its name, and a run that failed is not counted', async () => {
  const failed = Promise.withResolvers<{ message: string; name: string }>();
  let steadyMs = 0;
  const loops = createLoops(
    (error, name) => failed.resolve({ message: String(error), name }),
    () => steadyMs,
  );
  const run = async () => {
    steadyMs = 5;
    throw new Error('no space is left');
  };
  loops.start('checkpoints', { idleMs: 60_000, run });
  const { message, name } = await failed.promise;
  assert.deepEqual([message, name], ['Error: no space is left', 'checkpoints']);
  await loops.stop();
  assert.equal(loops.succeededAtMs().get('checkpoints'), 0);
});
