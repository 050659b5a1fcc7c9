import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { after, before, test } from 'node:test';
import { habits, hubFsp } from '../../../testing/counterparties/fspiop/hub-callbacks.ts';
import {
  context,
  describeConfig,
  instruct,
  openScene,
  type Scene,
} from '../../../testing/setups/fspiop.ts';
import type { CallbackMessage } from '../contract/contract.ts';
import { nameType } from './messages.ts';
import { nameTransfer } from './payment.ts';
import { railModule } from './rail.ts';
import { signMessage } from './signature.ts';

/** A staging environment whose clock is ahead, with counterparts that go by the time of day. */

const dayMs = 86_400_000;
let scene: Scene;
before(async () => {
  scene = await openScene({ nowMs: () => Date.now() + dayMs, realNowMs: Date.now });
});
after(() => scene.close());

function observed(reference: string) {
  return scene.host.observations.filter((one) => one.reference === reference);
}

test('an environment whose clock is a day ahead pays through a hub that goes by the time of day', async () => {
  const instruction = instruct();
  const quotes = scene.simulator.counts.get('POST /quotes') ?? 0;
  const sent = await scene.rail.send(instruction, context);
  assert.equal(sent.outcome, 'accepted');
  await scene.until(() => observed(instruction.reference).length > 0);
  assert.equal(observed(instruction.reference)[0]?.outcome, 'paid');
  assert.equal((scene.simulator.counts.get('POST /quotes') ?? 0) - quotes, 1);
});

test('dates that counterparts read follow the time of day', async () => {
  const instruction = instruct({ habit: habits.lostCallbacks });
  await scene.rail.send(instruction, context);
  const transferId = nameTransfer(instruction.reference);
  await scene.until(async () => {
    const record = await scene.host.store.get('payments', transferId);
    return record?.state === 'transfer';
  });
  const record = await scene.host.store.get('payments', transferId);
  const value = record?.value as {
    transferRequest: { headers: Record<string, string>; body: string } | null;
  };
  const request = value.transferRequest;
  assert(request !== null);
  const { expiration } = JSON.parse(request.body) as { expiration: string };
  for (const date of [request.headers['date'] ?? '', expiration]) {
    assert.ok(Math.abs(Date.parse(date) - Date.now()) < 5 * 60_000, date);
  }
  await scene.until(() => observed(instruction.reference).length > 0);
});

async function sign(
  ageMs: number,
  change: { date?: string; isDateSigned?: boolean } = {},
): Promise<CallbackMessage> {
  const uri = '/parties/MSISDN/254700000001/error';
  const body = '{"errorInformation":{"errorCode":"3204","errorDescription":"none"}}';
  const date = change.date ?? new Date(Date.now() - ageMs).toUTCString();
  const signed = change.isDateSigned === false ? undefined : date;
  const head = { method: 'PUT', uri, source: hubFsp, destination: 'outlay', date: signed };
  const key = createPrivateKey(scene.simulator.keys.hub.privatePem);
  return {
    method: 'PUT',
    path: uri,
    query: {},
    headers: {
      'content-type': nameType('parties'),
      date,
      'fspiop-source': hubFsp,
      'fspiop-destination': 'outlay',
      'fspiop-signature': await signMessage(head, body, key),
    },
    body: Buffer.from(body),
  };
}

test('a signed callback is refused when it is told again after its time', async () => {
  const { readCallback } = scene.rail;
  assert(readCallback !== undefined);
  for (const ageMs of [0, 290_000, -290_000]) {
    assert.equal((await readCallback(await sign(ageMs))).kind, 'accepted', `${ageMs}`);
  }
  for (const ageMs of [310_000, -310_000, dayMs, -dayMs]) {
    assert.equal((await readCallback(await sign(ageMs))).kind, 'refused', `${ageMs}`);
  }
  for (const date of ['', 'yesterday']) {
    assert.equal((await readCallback(await sign(0, { date }))).kind, 'refused', date);
  }
});

test('a date that is not signed counts only where the operator says so', async () => {
  const read = async (callbackDate: string, ageMs: number) => {
    const { host, simulator } = scene;
    const config = { ...describeConfig(simulator, 'http://127.0.0.1:1'), callbackDate };
    const rail = await railModule.create(railModule.configSchema.parse(config), host);
    const reading = await rail.readCallback?.(await sign(ageMs, { isDateSigned: false }));
    return reading?.kind;
  };
  assert.equal(await read('signed', 0), 'refused');
  assert.equal(await read('sent', 0), 'accepted');
  assert.equal(await read('sent', dayMs), 'refused');
});
