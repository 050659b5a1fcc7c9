import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBounded } from './bounded-body.ts';

test('a body up to the limit is read whole', async () => {
  assert.equal((await readBounded(new Response('1234'), 4))?.toString(), '1234');
  assert.equal((await readBounded(new Response(null), 4))?.length, 0);
});

test('a longer body is given up, and its rest is not asked for', async () => {
  let pulls = 0;
  let isCanceled = false;
  const endless = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        pulls += 1;
        controller.enqueue(new Uint8Array(3));
      },
      cancel: () => {
        isCanceled = true;
      },
    },
    { highWaterMark: 0 },
  );
  assert.equal(await readBounded(new Response(endless), 4), undefined);
  assert.equal(pulls, 2);
  assert.ok(isCanceled);
});
