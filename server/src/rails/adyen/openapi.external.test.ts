import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  type AdyenBench,
  adyenAttributes,
  context,
  newAdyenInstruction,
  openAdyenBench,
} from '../../../testing/setups/adyen.ts';
import {
  type DescribedExchange,
  type Description,
  openDescription,
} from '../../../testing/setups/openapi-description.ts';
import { recordExchanges } from '../../../testing/setups/recorded-fetch.ts';
import type { Instruction } from '../contract/contract.ts';

/**
 * Every request of the rail, and every answer and webhook of the simulated Adyen, against Adyen's own
 * descriptions. `OUTLAY_SHARED_DATA` names the folder that has them in `providers/adyen`.
 */

const defaultData = fileURLToPath(new URL('../../../../../shared/data', import.meta.url));
const folder = join(process.env['OUTLAY_SHARED_DATA'] ?? defaultData, 'providers', 'adyen');
const skip = !existsSync(folder) && `there are no descriptions in ${folder}`;

const open = (name: string): Description => openDescription([join(folder, `${name}.json`)]);

const american = {
  address1: '274 Brannan Street',
  address2: '',
  city: 'San Francisco',
  stateProvince: 'CA',
  postalCode: '94107',
  countryCode: 'USA',
};
const person = newAdyenInstruction().beneficiary;
const local = (
  countryCode: string,
  currency: string,
  attributes: Instruction['attributes'],
): Partial<Instruction> => ({ countryCode, currency, attributes });

/** Every form of counterparty that the rail writes. */
const recipients: readonly Partial<Instruction>[] = [
  {},
  { payerKey: 'instant' },
  { payerKey: 'reviewed' },
  { beneficiary: { ...person, businessName: 'Müller & Söhne GmbH' } },
  { attributes: { BankAccountNumber: 'ES9121000418450200051332', SWIFT: 'CAIXESBBXXX' } },
  {
    payerKey: 'card',
    beneficiary: { ...person, ...american },
    attributes: adyenAttributes.card,
  },
  { payerKey: 'instrument', attributes: adyenAttributes.instrument },
  { payerKey: 'wallet', attributes: adyenAttributes.wallet },
  {
    ...local('USA', 'USD', {
      BankAccountNumber: '123456789',
      BankRoutingNumber: '011000138',
      BankAccountType: 'SAVINGS',
    }),
    beneficiary: { ...person, ...american },
  },
  local('GBR', 'GBP', { BankAccountNumber: '31926819', BankRoutingNumber: '60-16-13' }),
  local('AUS', 'AUD', { BankAccountNumber: '123456789', BankRoutingNumber: '082-902' }),
  local('CAN', 'CAD', {
    BankAccountNumber: '1234567',
    BankRoutingNumber: '003',
    BankAccountBranchNumber: '00010',
  }),
  local('NZL', 'NZD', { BankAccountNumber: '01-0902-0068389-00' }),
  local('SGP', 'SGD', { BankAccountNumber: '1234567890', SWIFT: 'DBSSSGSG' }),
  local('HKG', 'HKD', { BankAccountNumber: '123456789012', BankRoutingNumber: '004' }),
  local('BRA', 'BRL', {
    BankAccountNumber: '12345-6',
    BankRoutingNumber: '001',
    BankAccountBranchNumber: '0001',
  }),
  local('MEX', 'USD', { BankAccountNumber: '002180000118359719', SWIFT: 'BNMXMXMM' }),
];

describe('against the descriptions of Adyen', { skip }, () => {
  test('every request, answer and webhook of real walks', async () => {
    const { exchanges, fetch } = recordExchanges();
    const bench = await openAdyenBench({ fetch });
    const bodies: string[] = [];
    try {
      await walk(bench);
      for (const { body } of bench.simulator.books.webhooks.values()) bodies.push(body);
    } finally {
      await bench.close();
    }
    assert.deepEqual(checkExchanges(exchanges), [
      'GET /btl/v4/transfers 200',
      'GET /btl/v4/transfers 401',
      'GET /btl/v4/transfers/{id} 200',
      'POST /btl/v4/transfers 202',
      'POST /btl/v4/transfers 401',
      'POST /btl/v4/transfers 422',
      'POST /btl/v4/transfers 500',
      'POST /btl/v4/transfers 503',
      'POST /btl/v4/transfers/cancel 200',
    ]);
    assert.deepEqual(checkWebhooks(bodies), [
      'balancePlatform.report.created',
      'balancePlatform.transfer.created',
      'balancePlatform.transfer.updated',
    ]);
  });

  test("the descriptions' own examples", () => {
    const names = [
      'TransferService-v4',
      'BalancePlatformTransferNotification-v4',
      'BalancePlatformReportNotification-v1',
    ];
    const checked = names.map((name) => open(name).checkExamples());
    assert.deepEqual(
      checked.flatMap(({ wrong }) => wrong),
      [],
    );
    assert.ok(checked.every(({ count }) => count > 0));
  });

  test('the validator refuses what the description does not permit', () => {
    const description = open('TransferService-v4');
    const faults = description.listFaults({
      method: 'POST',
      path: '/btl/v4/transfers?unknown=1',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ amount: { value: 1.5, currency: 'EUR' }, category: 'bnk' }),
      status: 202,
      answer: '{"id":"1","surprise":true}',
    });
    const text = faults.join('\n');
    for (const part of ['unknown', '/amount/value', '/category', 'counterparty', 'surprise']) {
      assert.ok(text.includes(part), part);
    }
  });
});

/** The calls that were seen, with their statuses. */
function checkExchanges(exchanges: readonly DescribedExchange[]): string[] {
  const description = open('TransferService-v4');
  const seen = new Set<string>();
  for (const exchange of exchanges) {
    const [pathname = ''] = exchange.path.split('?');
    const faults = description.listFaults(exchange);
    if (description.findOperation(exchange) === undefined) {
      assert.match(pathname, /^\/(?:bcl\/v2\/balanceAccounts|balanceplatform\/reports)\//);
      continue;
    }
    const name = `${exchange.method} ${pathname.replace(/\/[0-9A-F]{16}$/, '/{id}')}`;
    // Overload and maintenance have no description.
    const isDescribed = exchange.status !== 503;
    assert.deepEqual(isDescribed ? faults : [], [], `${name}: ${exchange.body}`);
    seen.add(`${name} ${exchange.status}`);
  }
  return [...seen].toSorted();
}

function checkWebhooks(bodies: readonly string[]): string[] {
  const transfers = open('BalancePlatformTransferNotification-v4');
  const reports = open('BalancePlatformReportNotification-v1');
  const types = new Set<string>();
  for (const body of bodies) {
    const { type } = JSON.parse(body) as { type: string };
    const description = type.includes('.report.') ? reports : transfers;
    assert.deepEqual(description.listWebhookFaults(type, body), [], body);
    types.add(type);
  }
  return [...types].toSorted();
}

/** Late failures, parts that come back, unknown counterparties, and fees of either form. */
async function walkBack({ simulator, rail }: AdyenBench, instructions: Instruction[]) {
  const add = async (changes: Partial<Instruction>): Promise<Instruction> => {
    const instruction = newAdyenInstruction(changes);
    await rail.send(instruction, context);
    instructions.push(instruction);
    return instruction;
  };
  const card = { payerKey: 'card', attributes: adyenAttributes.card };
  const wallet = { payerKey: 'wallet', attributes: adyenAttributes.wallet };
  simulator.setOptions({ unknownPattern: '^UNKNOWN' });
  const token = { ...adyenAttributes.card, CardNumber: 'UNKNOWN-TOKEN' };
  await rail.send(newAdyenInstruction({ ...card, attributes: token }), context);
  for (const by of ['event', 'transfer'] as const) {
    simulator.setOptions({ fee: { value: 25, currency: 'EUR', by } });
    const late = await add(card);
    const refused = await add(card);
    simulator.expect(refused.reference, 'failed');
    const part = await add(wallet);
    for (let step = 0; step < 4; step += 1) await simulator.advance();
    for (const instruction of [late, refused, part]) await rail.query(instruction, context);
    simulator.force(late.reference, 'returned', { reason: 'unknown' });
    simulator.force(part.reference, 'returned', { value: 5 });
    await rail.work?.(context);
  }
  simulator.setOptions({ fee: undefined });
}

/** Payments of every form through every status, refusals, faults, lists, a report and funds. */
async function walk(bench: AdyenBench): Promise<void> {
  const { simulator, rail, again, clock } = bench;
  const instructions = recipients.map((changes) => newAdyenInstruction(changes));
  for (const instruction of instructions) {
    const answer = await rail.send(instruction, context);
    assert.equal(answer.outcome, 'accepted', JSON.stringify(instruction.attributes));
  }
  const reviewed = instructions.find(({ payerKey }) => payerKey === 'reviewed');
  assert.ok(reviewed !== undefined);
  await rail.cancel?.(reviewed, context);
  for (const plannedOutcome of ['refused', 'failed', 'returned'] as const) {
    const instruction = newAdyenInstruction();
    simulator.expect(instruction.reference, plannedOutcome);
    await rail.send(instruction, context);
    instructions.push(instruction);
  }
  await walkBack(bench, instructions);
  const looked = newAdyenInstruction();
  simulator.setOptions({ reviewPattern: looked.reference });
  instructions.push(looked);
  await rail.send(looked, context);
  for (const kind of ['error_after', 'reset_after', 'busy'] as const) {
    const instruction = newAdyenInstruction();
    simulator.setOptions({ faults: [{ on: 'create', kind }] });
    await rail.send(instruction, context);
    simulator.setOptions({ faults: [] });
    await rail.query(instruction, context);
  }
  simulator.setOptions({ routes: [] });
  await rail.send(newAdyenInstruction(), context);
  for (let step = 0; step < 8; step += 1) {
    await simulator.advance();
    for (const instruction of instructions) await rail.query(instruction, context);
  }
  const stranger = await again({ apiKey: 'a.key.that.is.not.known' });
  await stranger.send(newAdyenInstruction(), context);
  await stranger.check?.(context);
  simulator.publishBalanceReport();
  await rail.readFunds?.(context);
  await rail.check?.(context);
  await rail.work?.(context);
  await rail.recover?.(clock.nowMs - 400 * 24 * 3_600_000, context);
  await rail.findUnknownPayments?.(context);
}
