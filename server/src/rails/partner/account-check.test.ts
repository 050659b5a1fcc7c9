import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultKind } from '../../../testing/counterparties/partner/simulator-options.ts';
import {
  context,
  declarePartnerPayer,
  newInstruction,
  type openWithSecrets,
  type PartnerRail,
} from '../../../testing/setups/partner.ts';
import { servePartnerParts } from '../../../testing/setups/partner-parts.ts';
import type { Beneficiary } from '../contract/contract.ts';

/** Account checks and balances of a partner that has them. */

const { attributes, beneficiary } = newInstruction();
const account = attributes['bank_account_number'] ?? '';

let partner: Awaited<ReturnType<typeof openWithSecrets>>;
let subject: PartnerRail;
servePartnerParts(
  {
    capabilities: ['account_check', 'balances'],
    behavior: {
      fee: '0.50',
      accountHolders: { [account]: 'Ana Nunez' },
      deposits: { EUR: '250.00', JPY: '90000', XXXXX: '1' },
    },
    payers: [declarePartnerPayer()],
  },
  (opened) => ({ partner, subject } = opened),
);

function breakAnswers(on: 'account' | 'balances', kind: FaultKind): void {
  const times = { share: 1, count: null, pattern: '', delayMs: 5000 };
  partner.state.options.faults = [{ on, kind, ...times }];
}

const checkName = (changes: Partial<Beneficiary>, given = attributes, { signal } = context) =>
  subject.rail.checkPayee?.(
    { ...newInstruction(), attributes: given, beneficiary: { ...beneficiary, ...changes } },
    { signal },
  );

test('the partner compares the name with the holder of the account', async () => {
  assert.deepEqual(await checkName({}), { outcome: 'match' });
  const close = { outcome: 'close_match', name: 'Ana Nunez' };
  assert.deepEqual(await checkName({ firstName: 'Anna' }), close);
  const other = { firstName: '', lastName: '', businessName: 'Obra SL' };
  assert.deepEqual(await checkName(other), { outcome: 'no_match' });
  const unknown = { bank_account_number: 'ES00' };
  assert.deepEqual(await checkName({}, unknown), { outcome: 'not_possible' });
  assert.deepEqual(await checkName({}, {}), { outcome: 'not_possible' });
});

test('without a definite answer the check is not possible, and nothing personal is logged', async () => {
  const kinds = ['garbage', 'error_before', 'reset_before', 'cut', 'busy', 'no_time'];
  const anna = { firstName: 'Anna' };
  for (const kind of kinds as FaultKind[]) {
    breakAnswers('account', kind);
    assert.deepEqual(await checkName(anna), { outcome: 'not_possible' }, kind);
  }
  breakAnswers('account', 'silent_before');
  const impatient = { signal: AbortSignal.timeout(20) };
  assert.deepEqual(await checkName(anna, attributes, impatient), { outcome: 'not_possible' });
  const log = JSON.stringify(subject.host.lines);
  assert.match(log, /account check/);
  assert.doesNotMatch(log, /Ana|Anna|Nunez|Núñez|ES91/);
});

test('the balances are what was paid in without what was ordered, and follow it', async () => {
  const read = async () => subject.rail.readFunds?.(context);
  const yen = { currency: 'JPY', amount: '90000' };
  assert.deepEqual(await read(), [{ currency: 'EUR', amount: '250' }, yen]);
  const first = newInstruction();
  await subject.rail.send(first, context);
  assert.deepEqual(await read(), [{ currency: 'EUR', amount: '149.9' }, yen]);
  partner.state.lifecycle.move(first.reference, { state: 'paid', reason: '' });
  assert.deepEqual(await read(), [{ currency: 'EUR', amount: '149.4' }, yen]);
  const second = newInstruction({ amountMinor: 20_000n });
  await subject.rail.send(second, context);
  assert.deepEqual(await read(), [{ currency: 'EUR', amount: '-50.6' }, yen]);
  await subject.rail.cancel?.(second, context);
  assert.deepEqual(await read(), [{ currency: 'EUR', amount: '149.4' }, yen]);
});

test('an answer that cannot be read states no balance', async () => {
  const read = async () => subject.rail.readFunds?.(context);
  for (const kind of ['garbage', 'error_before', 'busy', 'no_time'] as const) {
    breakAnswers('balances', kind);
    await assert.rejects(read(), /the partner does not state its balances/, kind);
  }
  partner.state.options.faults = [];
  partner.state.options.defects = ['states_balances_as_numbers'];
  await assert.rejects(read(), /does not have its form/);
});
