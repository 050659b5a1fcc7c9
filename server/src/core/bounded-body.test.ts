import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createByteCollector, readBounded } from './bounded-body.ts';

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

test('pieces are copied, so that many small ones do not take the memory of as many buffers', () => {
  const collector = createByteCollector(10_000);
  const piece = new Uint8Array(1);
  const expected = Array.from({ length: 10_000 }, (_, index) => index % 251);
  for (const [index, byte] of expected.entries()) {
    // The first piece is kept as it is; every later one may be changed once it was added.
    piece[0] = byte;
    assert.ok(collector.add(index === 0 ? piece.slice() : piece));
  }
  assert.deepEqual([...collector.take()], expected);
  assert.equal(collector.add(piece), false);
  assert.equal(collector.add(piece), false);
  assert.equal(collector.take().length, 0);
});
