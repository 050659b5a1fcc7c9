import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  openToolkit,
  type Toolkit,
  toolkitFsp,
  trials,
} from '../../../testing/counterparties/fspiop/toolkit.ts';
import {
  type CallbackEndpoint,
  context,
  instruct,
  openCallbackEndpoint,
  payer,
} from '../../../testing/setups/fspiop.ts';
import { openTestHost, type TestHost } from '../../../testing/setups/rail.ts';
import type { Instruction, RailAnswer, RailCalls } from '../contract/contract.ts';
import { nameTransfer } from './payment.ts';
import { railModule } from './rail.ts';

/** Against Mojaloop's testing toolkit, whose history of requests is compared. */

let endpoint: CallbackEndpoint;
let toolkit: Toolkit;
let host: TestHost;
let rail: RailCalls;

before(async () => {
  endpoint = await openCallbackEndpoint(() => ({ rail, host }));
  toolkit = await openToolkit(endpoint.url);
  host = await openTestHost({ name: 'momo', payers: [payer], callbackUrl: endpoint.url });
  rail = await openRail({});
});
after(async () => {
  await toolkit.close();
  await endpoint.close();
  await host.close();
});

function openRail(changes: Record<string, unknown>): Promise<RailCalls> {
  const config = {
    hubUrl: toolkit.url,
    fspId: 'outlay',
    hubFspId: toolkitFsp,
    privateKey: toolkit.keys.payerPrivate,
    publicKeys: { [toolkitFsp]: toolkit.keys.toolkitPublic },
    payer: { idType: 'BUSINESS', id: 'outlay' },
    feeMax: { fixed: { KES: '0.50' }, basisPoints: 0 },
    // Its callbacks take a second or more.
    againMs: 10_000,
    termsMs: 600_000,
    // Its wallets have other names, and it does not sign the date.
    nameCheck: 'off',
    callbackDate: 'sent',
    ...changes,
  };
  return railModule.create(railModule.configSchema.parse(config), host);
}

async function pay(...instructions: Instruction[]): Promise<RailAnswer[]> {
  for (const instruction of instructions) {
    assert.equal((await rail.send(instruction, context)).outcome, 'accepted');
  }
  for (const endMs = performance.now() + 180_000; ; ) {
    await rail.work?.(context);
    const answers: RailAnswer[] = [];
    for (const instruction of instructions) answers.push(await rail.query(instruction, context));
    if (answers.every(({ outcome }) => outcome === 'paid' || outcome === 'rejected'))
      return answers;
    if (performance.now() > endMs)
      assert.fail(`no end after three minutes: ${JSON.stringify(answers)}`);
    await sleep(100);
  }
}

async function listTransfers({ reference }: Instruction) {
  const requests = await toolkit.listRequests();
  return requests.filter(
    ({ method, path, body }) =>
      method === 'post' &&
      path === '/transfers' &&
      body?.['transferId'] === nameTransfer(reference),
  );
}

test('the toolkit accepts look-up, quote and transfer, and its fulfilment is valid', async () => {
  const instruction = instruct({ amountMinor: 150_050n });
  const [answer] = await pay(instruction);
  assert.equal(answer?.outcome, 'paid');
  assert.deepEqual(answer.charges, [
    { id: 'payee_fee', kind: 'partner', currency: 'KES', amountMinor: 50n },
  ]);
  const transfers = await listTransfers(instruction);
  assert.equal(transfers.length, 1);
  assert.deepEqual(transfers[0]?.body?.['amount'], { currency: 'KES', amount: '1501' });
});

test('error codes of the toolkit become reasons', async () => {
  const wallet = instruct({ attributes: { PhoneNumber: `+${trials.unknownWallet}` } });
  const quote = instruct({ amountMinor: 51_010n });
  const transfer = instruct({ amountMinor: 51_040n });
  const cases = [
    [wallet, '3204', 'account_not_found', 0],
    [quote, '5101', 'recipient_refused', 0],
    [transfer, '5104', 'recipient_refused', 1],
  ] as const;
  for (const [instruction, code, reason, count] of cases) {
    const [answer] = await pay(instruction);
    assert.equal(answer?.outcome, 'rejected', code);
    assert.equal(answer.code, code);
    assert.equal(answer.reason, reason);
    assert.equal((await listTransfers(instruction)).length, count);
  }
});

test('a transfer without a callback is queried and sent once', async () => {
  const instruction = instruct({ amountMinor: 90_020n });
  assert.equal((await pay(instruction))[0]?.outcome, 'paid');
  assert.equal((await listTransfers(instruction)).length, 1);
});

test('a fee above feeMax ends the payment before the transfer', async () => {
  const usual = rail;
  rail = await openRail({ feeMax: { fixed: { KES: '0.49' }, basisPoints: 0 } });
  const instruction = instruct();
  const [answer] = await pay(instruction);
  rail = usual;
  assert.equal(answer?.outcome, 'rejected');
  assert.equal(answer.code, 'quote_fee');
  assert.deepEqual(await listTransfers(instruction), []);
});

test('five concurrent payments are transferred once each', async () => {
  const instructions = Array.from({ length: 5 }, () => instruct());
  const answers = await pay(...instructions);
  assert.deepEqual([...new Set(answers.map(({ outcome }) => outcome))], ['paid']);
  for (const instruction of instructions) {
    assert.equal((await listTransfers(instruction)).length, 1);
  }
});
