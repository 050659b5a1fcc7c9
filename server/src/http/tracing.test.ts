import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify from 'fastify';
import type { Span, SpanStart, Tracing } from '../tracing/tracing.ts';
import { addTracing } from './tracing.ts';

/** What a request pays for a trace that nobody records. */

function createCounting(isSampled: boolean) {
  const begun: SpanStart[] = [];
  const span: Span = {
    isRecorded: isSampled,
    traceId: '0af7651916cd43dd8448eb211c80319c',
    traceparent: '',
    set: () => undefined,
    fail: () => undefined,
    end: () => undefined,
  };
  let entered = 0;
  const tracing: Tracing = {
    sample: () => isSampled,
    active: () => undefined,
    begin: (start) => {
      begun.push(start);
      return span;
    },
    within: (_span, work) => {
      entered += 1;
      return work();
    },
    headers: () => ({}),
    close: async () => undefined,
  };
  return { tracing, begun, entered: () => entered };
}

async function ask(tracing: Tracing, headers: Readonly<Record<string, string>> = {}) {
  const app = fastify();
  addTracing(app, tracing);
  app.get('/thing', ({ span }) => ({ trace: span?.traceId ?? '' }));
  const answer = await app.inject({ url: '/thing', headers });
  await app.close();
  return answer.json<{ trace: string }>().trace;
}

test('a request that is not sampled begins no span and enters no context', async () => {
  const { tracing, begun, entered } = createCounting(false);
  assert.equal(await ask(tracing), '');
  assert.deepEqual([begun.length, entered()], [0, 0]);
});

test('a request that is sampled begins one span, which is not decided about again', async () => {
  const { tracing, begun, entered } = createCounting(true);
  assert.notEqual(await ask(tracing), '');
  assert.deepEqual([begun.length, begun[0]?.isSampled], [1, true]);
  assert.ok(entered() > 0);
});

test('a caller that names a trace is asked by its flag, whatever the share', async () => {
  const { tracing, begun } = createCounting(false);
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  assert.equal(await ask(tracing, { traceparent }), '0af7651916cd43dd8448eb211c80319c');
  assert.deepEqual(begun[0]?.parent, { traceparent });
  assert.equal(begun[0].isSampled, undefined);
});
