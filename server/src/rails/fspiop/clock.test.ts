import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { after, before, test } from 'node:test';
import { hubBehaviors, hubFsp } from '../../../testing/counterparties/fspiop/hub-callbacks.ts';
import {
  context,
  countQuotes,
  describeConfig,
  instruct,
  openTestRun,
  type TestRun,
} from '../../../testing/setups/fspiop.ts';
import type { CallbackMessage } from '../contract/contract.ts';
import { nameType } from './messages.ts';
import { nameTransfer } from './payment.ts';
import { railModule } from './rail.ts';
import { signMessage } from './signature.ts';

/** A staging environment whose clock is ahead of the counterparties' time of day. */

const dayMs = 86_400_000;
let run: TestRun;
before(async () => {
  run = await openTestRun({ nowMs: () => Date.now() + dayMs, realNowMs: Date.now });
});
after(() => run.close());

function observed(reference: string) {
  return run.host.observations.filter((one) => one.reference === reference);
}

test('payments work when the clock is a day ahead of the hub', async () => {
  const instruction = instruct();
  const sent = await run.rail.send(instruction, context);
  assert.equal(sent.outcome, 'accepted');
  await run.until(() => observed(instruction.reference).length > 0);
  assert.equal(observed(instruction.reference)[0]?.outcome, 'paid');
  assert.equal(await countQuotes(run, instruction.reference), 1);
});

test('dates sent to the hub follow the time of day', async () => {
  const instruction = instruct({ behavior: hubBehaviors.lostCallbacks });
  await run.rail.send(instruction, context);
  const transferId = nameTransfer(instruction.reference);
  await run.until(async () => {
    const record = await run.host.store.get('payments', transferId);
    return record?.state === 'transfer';
  });
  const record = await run.host.store.get('payments', transferId);
  const value = record?.value as {
    transferRequest: { headers: Record<string, string>; body: string } | null;
  };
  const request = value.transferRequest;
  assert(request !== null);
  const { expiration } = JSON.parse(request.body) as { expiration: string };
  for (const date of [request.headers['date'] ?? '', expiration]) {
    assert.ok(Math.abs(Date.parse(date) - Date.now()) < 5 * 60_000, date);
  }
  await run.until(() => observed(instruction.reference).length > 0);
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
  const key = createPrivateKey(run.simulator.keys.hub.privatePem);
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

test('a signed callback is refused outside callbackAgeMaxMs', async () => {
  const { readCallback } = run.rail;
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

test('an unsigned date is accepted only with callbackDate sent', async () => {
  const read = async (callbackDate: string, ageMs: number) => {
    const { host, simulator } = run;
    const config = { ...describeConfig(simulator, 'http://127.0.0.1:1'), callbackDate };
    const rail = await railModule.create(railModule.configSchema.parse(config), host);
    const reading = await rail.readCallback?.(await sign(ageMs, { isDateSigned: false }));
    return reading?.kind;
  };
  assert.equal(await read('signed', 0), 'refused');
  assert.equal(await read('sent', 0), 'accepted');
  assert.equal(await read('sent', dayMs), 'refused');
});
