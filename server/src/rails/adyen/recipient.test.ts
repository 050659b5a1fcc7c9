import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  declarePayer,
  describeAdyenConfig,
  newAdyenInstruction,
} from '../../../testing/setups/adyen.ts';
import { collectAttributes } from '../../attributes/collected-attributes.ts';
import type { Instruction } from '../contract/contract.ts';
import { configSchema, readPayerOptions } from './config.ts';
import { describeCounterparty } from './counterparty.ts';
import { createOrder, hashTarget, matchesInstruction } from './order.ts';
import { railModule } from './rail.ts';

/** Who can be paid, and how a recipient is written for Adyen. */

const person = newAdyenInstruction().beneficiary;

function readOptions(options: Record<string, string>) {
  const read = readPayerOptions(options);
  assert.ok(read.ok);
  return read.options;
}

function describeRecipient(
  changes: Partial<Instruction>,
  options: Record<string, string> = {},
): ReturnType<typeof describeCounterparty> {
  return describeCounterparty(newAdyenInstruction(changes), readOptions(options));
}

function listFields(result: ReturnType<typeof describeCounterparty>): string[] {
  return result.ok ? [] : result.faults.map(({ field, code }) => `${field} ${code}`);
}

describe('bank accounts', () => {
  const cases: readonly [string, Partial<Instruction>, readonly string[]][] = [
    ['an IBAN', {}, []],
    [
      'an IBAN with a wrong check digit',
      { attributes: { BankAccountNumber: 'ES9121000418450200051333' } },
      ['BankAccountNumber invalid'],
    ],
    [
      'an IBAN of another country',
      { attributes: { BankAccountNumber: 'NL91ABNA0417164300' } },
      ['BankAccountNumber invalid'],
    ],
    ['no account number', { attributes: {} }, ['BankAccountNumber missing']],
    [
      'a BIC of another country',
      { attributes: { BankAccountNumber: 'ES9121000418450200051332', SWIFT: 'ABNANL2A' } },
      ['SWIFT invalid'],
    ],
    [
      'an American account without its routing number',
      { countryCode: 'USA', currency: 'USD', attributes: { BankAccountNumber: '123456789' } },
      ['BankRoutingNumber invalid'],
    ],
    [
      'an account without an IBAN and without a BIC',
      { countryCode: 'MEX', currency: 'USD', attributes: { BankAccountNumber: '123456789' } },
      ['SWIFT invalid'],
    ],
  ];
  for (const [name, changes, fields] of cases) {
    test(name, () => assert.deepEqual(listFields(describeRecipient(changes)), fields));
  }

  test('an address is required abroad and for wires, and left out where it is incomplete', () => {
    const beneficiary = { ...person, address1: '', city: 'Al' };
    assert.deepEqual(listFields(describeRecipient({ beneficiary })), []);
    const fields = ['address1 missing', 'city missing'];
    assert.deepEqual(
      listFields(describeRecipient({ beneficiary }, { priorities: 'wire' })),
      fields,
    );
    const result = describeRecipient({ beneficiary });
    assert.ok(result.ok && 'bankAccount' in result.counterparty);
    assert.equal(result.counterparty.bankAccount.accountHolder.address, undefined);
  });

  test('names are written in Latin letters, or refused', () => {
    const write = (changes: Partial<Instruction['beneficiary']>): string | undefined => {
      const result = describeRecipient({ beneficiary: { ...person, ...changes } });
      return result.ok && 'bankAccount' in result.counterparty
        ? result.counterparty.bankAccount.accountHolder.fullName
        : undefined;
    };
    assert.equal(write({ lastName: 'Łukasiewicz' }), 'Ana Lukasiewicz');
    assert.equal(write({ firstName: 'Ольга', lastName: 'Ё' }), "Ol'ga E");
    assert.equal(write({ businessName: 'Müller & Söhne' }), 'Muller & Sohne');
    assert.equal(write({ firstName: '', lastName: '🙂' }), undefined);
  });
});

describe('cards', () => {
  const card = { CardNumber: '4111111111111111', CardExpiration: '2030-03-31' };
  const read = (attributes: Instruction['attributes']) =>
    describeRecipient({ attributes }, { counterparty: 'card' });

  test('need number, expiry, both names and an address', () => {
    assert.deepEqual(listFields(read(card)), []);
    assert.deepEqual(listFields(read({})), ['CardNumber missing']);
    const wrong = { ...card, CardNumber: '4111111111111112' };
    assert.deepEqual(listFields(read(wrong)), ['CardNumber invalid']);
    const never = { ...card, CardExpiration: '2030-13' };
    assert.deepEqual(listFields(read(never)), ['CardExpiration invalid']);
    const beneficiary = { ...person, lastName: '' };
    const nameless = describeRecipient({ attributes: card, beneficiary }, { counterparty: 'card' });
    assert.deepEqual(listFields(nameless), ['last_name missing']);
  });
});

describe('the order', () => {
  const config = configSchema.parse(describeAdyenConfig(1, { description: 'Payout 7' }));
  const instruction = newAdyenInstruction();
  const result = describeRecipient({});
  assert.ok(result.ok);
  const { counterparty } = result;

  test('is compared with its instruction', () => {
    const options = readOptions({ priorities: 'fast, regular', approvals: '2' });
    const order = createOrder(instruction, counterparty, { config, options });
    assert.deepEqual(order.priorities, ['fast', 'regular']);
    assert.deepEqual(order.review, { numberOfApprovalsRequired: 2 });
    assert.equal(order.description, 'Payout 7');
    const expected = {
      target: hashTarget(counterparty),
      balanceAccountId: config.balanceAccountId,
    };
    assert.ok(matchesInstruction(order, instruction, expected));
    for (const changed of [{ amountMinor: 1n }, { currency: 'USD' }, { reference: 'other' }]) {
      assert.ok(!matchesInstruction(order, { ...instruction, ...changed }, expected));
    }
    assert.ok(!matchesInstruction(order, instruction, { ...expected, target: 'other' }));
    const elsewhere = { ...expected, balanceAccountId: 'BA00000000000000000000002' };
    assert.ok(!matchesInstruction(order, instruction, elsewhere));
  });

  test('has no reference for beneficiaries whose banks carry fewer characters', () => {
    const american = describeRecipient({
      countryCode: 'USA',
      currency: 'USD',
      attributes: { BankAccountNumber: '123456789', BankRoutingNumber: '011000138' },
    });
    assert.ok(american.ok);
    const options = readOptions({});
    const order = createOrder(instruction, american.counterparty, { config, options });
    assert.equal(order.referenceForBeneficiary, undefined);
    assert.equal(order.priority, 'regular');
  });
});

describe('the configuration', () => {
  test('is refused without repeating a secret', () => {
    for (const changes of [
      { apiKey: 'short-secret' },
      { webhookKeys: ['short-secret'] },
      { webhookKeys: [] },
      { apiUrl: 'http://balanceplatform.example' },
      { balanceAccountId: 'BA 1' },
      { priorities: 'instant' },
    ]) {
      const parsed = configSchema.safeParse({ ...describeAdyenConfig(1), ...changes });
      assert.ok(!parsed.success, JSON.stringify(changes));
      assert.ok(!parsed.error.message.includes('short-secret'));
    }
  });
});

describe('payers', () => {
  const check = (
    changes: Parameters<typeof declarePayer>[2],
    options: Record<string, string> = {},
  ): readonly string[] => {
    const payer = declarePayer('payer', options, changes);
    const currency = payer.currencies[0] ?? '';
    const collected = collectAttributes({ ...payer, currency });
    return railModule.checkPayer?.(payer, collected) ?? [];
  };

  test('of many countries can be paid with what recipients give', () => {
    const corridors =
      'ESP EUR,DEU EUR,POL PLN,USA USD,GBR GBP,AUS AUD,CAN CAD,NZL NZD,SGP SGD,HKG HKD,BRA BRL,MEX USD';
    for (const corridor of corridors.split(',')) {
      const [countryCode = '', currency = ''] = corridor.split(' ');
      assert.deepEqual(check({ countryCode, currencies: [currency] }), [], corridor);
    }
  });

  test('that can never be paid are refused at the start', () => {
    const card = check({}, { counterparty: 'card' });
    assert.match(card.join(), /CardNumber/);
    const wallet = { counterparty: 'balanceAccount' };
    assert.match(check({ deliveryType: 'MOBILE_WALLET' }, wallet).join(), /BankAccountNumber/);
    assert.match(check({ countryCode: 'CHL', currencies: ['CLP'] }).join(), /minor units of CLP/);
    assert.match(check({}, { priorities: 'regular,soon' }).join(), /options\.priorities/);
    assert.match(check({}, { code: 'X' }).join(), /options/);
  });
});
