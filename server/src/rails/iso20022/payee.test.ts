import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  type PayeeSimulator,
  type Payees,
  setPayees,
  startPayeeSimulator,
} from '../../../testing/counterparties/iso20022/payee-simulator.ts';
import {
  beneficiary,
  makeConfig,
  makeIban,
  makeInstruction,
  noSignal,
  openTestRail,
  type TestRail,
} from '../../../testing/setups/iso20022.ts';
import type { PayeeAnswer, RecipientDraft } from '../contract/contract.ts';

/** Verification of payee, against the simulated service of the bank. */

let folder: string;
let service: PayeeSimulator;
let it: TestRail;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outlay-payees-'));
  service = await startPayeeSimulator({ folder, token: 'secret' });
  it = await openTestRail({ verificationOfPayee: { url: service.url, token: 'secret' } });
});
after(async () => {
  await it.close();
  await service.close();
  await rm(folder, { recursive: true });
});

const iban = makeIban();

async function check(
  payees: Payees,
  some: { account?: string; rail?: TestRail; signal?: AbortSignal } = {},
): Promise<PayeeAnswer | undefined> {
  await setPayees(folder, payees);
  const { account = iban, rail = it, signal = noSignal } = some;
  const { payerKey, countryCode, deliveryType, currency, amountMinor } = makeInstruction();
  const draft: RecipientDraft = {
    payerKey,
    countryCode,
    deliveryType,
    currency,
    amountMinor,
    beneficiary,
    attributes: { BankAccountNumber: account },
  };
  return rail.rail.checkPayee?.(draft, { signal });
}

test('the bank compares the name that a transfer would carry', async () => {
  const ask = (holder: string) => check({ holders: { [iban]: holder } });
  assert.deepEqual(await ask('Zoe Muller-Lukasz'), { outcome: 'match' });
  const close = await ask('Zoe Maria Muller-Lukasz');
  assert.deepEqual(close, { outcome: 'close_match', name: 'Zoe Maria Muller-Lukasz' });
  assert.deepEqual(await ask('Somebody Else'), { outcome: 'no_match' });
  assert.deepEqual(await check({ holders: {} }), { outcome: 'not_possible' });
});

test('only accounts with an IBAN are asked about', async () => {
  const before = service.count();
  const answers = [await check({}, { account: '12345678' }), await check({}, { account: 'DE00' })];
  assert.deepEqual(answers, [{ outcome: 'not_possible' }, { outcome: 'not_possible' }]);
  assert.equal(service.count(), before);
});

test('whatever is not an answer is not possible, and nothing personal is logged', async () => {
  for (const mode of ['down', 'garbled', 'endless'] as const) {
    assert.deepEqual(await check({ mode }), { outcome: 'not_possible' }, mode);
  }
  const signal = AbortSignal.timeout(20);
  assert.deepEqual(await check({ mode: 'silent' }, { signal }), { outcome: 'not_possible' });
  const wrong = await openTestRail({
    verificationOfPayee: { url: service.url, token: 'another' },
  });
  const refused = await check({ holders: { [iban]: 'Zoe' } }, { rail: wrong });
  await wrong.close();
  assert.deepEqual(refused, { outcome: 'not_possible' });
  const log = JSON.stringify(it.host.lines);
  assert.ok(log.includes('verification of payee') && !log.includes(iban) && !/Zo[eë]/.test(log));
});

test('a rail without the service cannot be asked, and the address must be safe', async () => {
  const plain = await openTestRail();
  assert.equal(plain.rail.checkPayee, undefined);
  await plain.close();
  const configure = (url: string) =>
    makeConfig(folder, { verificationOfPayee: { url, token: 'secret' } });
  assert.throws(() => configure('http://bank.example/payees'), /https/);
  assert.ok(configure('https://bank.example/payees'));
});
