import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ReceiptDocument } from './document.ts';
import type { ReceiptProof } from './proof.ts';
import { ReceiptRenderer } from './renderer.ts';

const folder = mkdtempSync(join(tmpdir(), 'receipt-'));
after(() => rmSync(folder, { recursive: true }));

/** The stand-in workers ignore what they are given. */
const page = { document: {} as ReceiptDocument, proof: {} as ReceiptProof };
const answers = "process.on('message', ({ id }) => process.send(";

let workerCount = 0;

function rendererWith(source: string, options: { waitingMax?: number; renderMs?: number } = {}) {
  const workerPath = join(folder, `worker-${++workerCount}.mjs`);
  writeFileSync(workerPath, source);
  const limits = { waitingMax: 8, renderMs: 30_000, idleMs: 60_000, childBytesMax: 1000 };
  return new ReceiptRenderer({ ...limits, ...options, workerPath });
}

test('a crash of the child rejects its receipt, and the next one gets a new child', async () => {
  const renderer = rendererWith("process.on('message', () => process.exit(3));");
  const first = renderer.render(page);
  const second = renderer.render(page);
  const pid = renderer.childPid;
  await assert.rejects(first, { name: 'ReceiptError', reason: 'failed', message: /exit 3/ });
  assert.notEqual(renderer.childPid, pid);
  await assert.rejects(second, { reason: 'failed' });
  assert.equal(renderer.childPid, undefined);
});

test('a worker that cannot start rejects the receipt', async () => {
  const renderer = rendererWith("throw new Error('no engine');");
  await assert.rejects(renderer.render(page), { reason: 'failed' });
});

test('a child that hangs is killed at the time limit', async () => {
  const renderer = rendererWith("process.on('message', () => {});", { renderMs: 50 });
  await assert.rejects(renderer.render(page), { reason: 'timeout' });
  assert.equal(renderer.childPid, undefined);
});

test('the queue is bounded, and closing rejects waiting receipts', async () => {
  const renderer = rendererWith("process.on('message', () => {});", { waitingMax: 1 });
  const current = renderer.render(page);
  const waiting = renderer.render(page);
  await assert.rejects(renderer.render(page), { reason: 'busy' });
  renderer.close();
  await assert.rejects(current, { reason: 'closed' });
  await assert.rejects(waiting, { reason: 'closed' });
  await assert.rejects(renderer.render(page), { reason: 'closed' });
  assert.equal(renderer.childPid, undefined);
});

test("the child gets none of the service's settings", async () => {
  const renderer = rendererWith(
    `${answers}{ id, error: Object.keys(process.env).filter((key) => !key.startsWith('NODE_')).join() }));`,
  );
  await assert.rejects(renderer.render(page), { message: 'OUTLAY_RECEIPT_WORKER' });
  renderer.close();
});

test('a child that uses too much memory is ended after its answer', async () => {
  const answer = (memoryBytes: number) =>
    `${answers}{ id, pdf: new Uint8Array([1]), memoryBytes: ${memoryBytes} }));`;
  const small = rendererWith(answer(1000));
  assert.deepEqual(Array.from(await small.render(page)), [1]);
  assert.notEqual(small.childPid, undefined);
  small.close();
  const large = rendererWith(answer(1001));
  assert.deepEqual(Array.from(await large.render(page)), [1]);
  assert.equal(large.childPid, undefined);
});
