import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOtlpReceiver } from '../../testing/setups/otlp-receiver.ts';
import { ConfigError, readConfig } from '../config.ts';
import { startTracing } from './start.ts';
import { runInSpan, type Tracing } from './tracing.ts';

const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0';

async function open(url: string, changes: Record<string, string> = {}) {
  const errors: Error[] = [];
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...changes };
  const tracing = await startTracing(readConfig(settings), (error) => errors.push(error));
  assert.ok(tracing !== undefined);
  return { tracing, errors };
}

async function count(tracing: Tracing, headers: { traceparent?: string }): Promise<number> {
  let recorded = 0;
  for (let index = 0; index < 2_000; index += 1) {
    await runInSpan(tracing, { name: 'one', parent: headers }, async ({ isRecorded }) => {
      if (isRecorded) recorded += 1;
    });
  }
  return recorded;
}

test('without a receiver, or switched off, there is no tracing', async () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
  const off = [
    {},
    { ...endpoint, OTEL_SDK_DISABLED: 'true' },
    { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
  ];
  for (const settings of off) {
    assert.equal(await startTracing(readConfig(settings), assert.fail), undefined);
  }
});

test('the share of recorded traces follows the sampler, and a caller decides for its own', async () => {
  const ratio = {
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.1',
  };
  const { tracing } = await open('http://127.0.0.1:1', ratio);
  const own = await count(tracing, {});
  assert.ok(own > 100 && own < 320, `${own} of 2000`);
  assert.equal(await count(tracing, { traceparent: `${parent}1` }), 2_000);
  assert.equal(await count(tracing, { traceparent: `${parent}0` }), 0);
  await tracing.close();
});

test('spans that no collector takes are reported and do not delay the stop', async () => {
  const receiver = await startOtlpReceiver(400);
  const { tracing, errors } = await open(receiver.url);
  await runInSpan(tracing, { name: 'lost' }, () => Promise.resolve());
  await tracing.close();
  assert.equal(errors.length, 1);
  assert.equal(receiver.requests(), 1, 'the stop waits for no second try');
  await receiver.close();
});

test('failures, links and nesting arrive, without the message of the error', async () => {
  const receiver = await startOtlpReceiver();
  const { tracing } = await open(`${receiver.url}/`, { OTEL_RESOURCE_ATTRIBUTES: 'a=b%20c' });
  const linked = { traceparent: `${parent}1` };
  await assert.rejects(
    runInSpan(tracing, { name: 'outer', links: [linked] }, () =>
      runInSpan(tracing, { name: 'inner' }, () => Promise.reject(new TypeError('secret'))),
    ),
  );
  await tracing.close();
  const [inner, outer] = receiver.spans;
  assert.deepEqual([inner?.name, inner?.parentId], ['inner', outer?.spanId]);
  assert.equal(inner?.hasFailed, true);
  assert.equal(inner?.attributes['error.type'], 'TypeError');
  assert.deepEqual(outer?.links, ['0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331']);
  assert.equal(outer?.service, 'outlay');
  assert.ok(!receiver.bytes().includes('secret'));
  await receiver.close();
});

test('invalid settings are refused by name', () => {
  const invalid = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector',
    OTEL_EXPORTER_OTLP_HEADERS: 'nothing',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: '2',
  };
  for (const [name, value] of Object.entries(invalid)) {
    assert.throws(
      () => readConfig({ [name]: value }),
      (error: Error) => error instanceof ConfigError && error.message.startsWith(`${name} must`),
    );
  }
});
