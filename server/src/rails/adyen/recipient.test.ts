import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  adyenAttributes,
  declarePayer,
  describeAdyenConfig,
  newAdyenInstruction,
} from '../../../testing/setups/adyen.ts';
import { collectAttributes } from '../../attributes/collected-attributes.ts';
import { makeDeclaredCorridor } from '../../attributes/requirements.ts';
import type { Instruction } from '../contract/contract.ts';
import { configSchema, readPayerOptions } from './config.ts';
import { counterpartySchema, describeCounterparty } from './counterparty.ts';
import { createOrder, hashTarget, matchesInstruction } from './order.ts';
import { railModule } from './rail.ts';

/** Who can be paid, and how a recipient is written for Adyen. */

const person = newAdyenInstruction().beneficiary;

function readOptions(
  options: Record<string, string>,
  changes: Parameters<typeof declarePayer>[2] = {},
) {
  const read = readPayerOptions(declarePayer('payer', options, changes));
  assert.ok(read.ok);
  return read.options;
}

function describeRecipient(
  changes: Partial<Instruction>,
  options: Record<string, string> = {},
  payer: Parameters<typeof declarePayer>[2] = {},
): ReturnType<typeof describeCounterparty> {
  return describeCounterparty(newAdyenInstruction(changes), readOptions(options, payer));
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

describe('stored cards', () => {
  const card = adyenAttributes.card;
  const read = (
    attributes: Instruction['attributes'],
    beneficiary: Partial<Instruction['beneficiary']> = {},
  ) =>
    describeRecipient(
      { attributes, beneficiary: { ...person, ...beneficiary } },
      {},
      { accountForm: 'stored_card' },
    );

  test('need token, cardholder, both names and an address', () => {
    const result = read(card);
    assert.ok(result.ok && 'card' in result.counterparty);
    assert.deepEqual(result.counterparty.card.cardIdentification, {
      storedPaymentMethodId: card.CardNumber,
    });
    assert.equal(result.counterparty.card.cardHolder.reference, 'customer 42');
    assert.deepEqual(listFields(read({})), ['CardNumber missing']);
    assert.deepEqual(listFields(read({ CardNumber: card.CardNumber })), [
      'BillReferenceNumber missing',
    ]);
    assert.deepEqual(listFields(read(card, { lastName: '' })), ['last_name missing']);
    const nowhere = read(card, { address1: '', city: '' });
    assert.deepEqual(listFields(nowhere), ['address1 missing', 'city missing']);
  });

  test('a card number is refused in either attribute, and by the schema of orders', () => {
    const number = '4111 1111 1111 1111';
    const asToken = read({ ...card, CardNumber: number });
    assert.deepEqual(listFields(asToken), ['CardNumber invalid']);
    assert.ok(!asToken.ok && !JSON.stringify(asToken.faults).includes('4111'));
    const asReference = read({ ...card, BillReferenceNumber: number });
    assert.deepEqual(listFields(asReference), ['BillReferenceNumber invalid']);
    const known = read(card);
    assert.ok(known.ok && 'card' in known.counterparty);
    for (const cardIdentification of [
      { storedPaymentMethodId: '4111111111111111' },
      { number: '4111111111111111', expiryMonth: '03', expiryYear: '2030' },
    ]) {
      const changed = { card: { ...known.counterparty.card, cardIdentification } };
      assert.ok(!counterpartySchema.safeParse(changed).success);
    }
  });

  test('the street has two lines, as the description requires it for cards', () => {
    const write = (address1: string, address2 = '') => {
      const result = read(card, { address1, address2 });
      if (!result.ok) return listFields(result).join();
      assert.ok('card' in result.counterparty);
      const { line1, line2 } = result.counterparty.card.cardHolder.address;
      return `${line1} | ${line2}`;
    };
    assert.equal(write('274 Brannan St'), '274 | Brannan St');
    assert.equal(write('Calle Mayor 5'), 'Calle Mayor | 5');
    assert.equal(write('Plaza Mayor'), 'Plaza | Mayor');
    assert.equal(write('Calle Mayor 5', 'piso 2'), 'Calle Mayor 5 | piso 2');
    assert.equal(write('Aldea'), 'address2 missing');
  });
});

describe('accounts that Adyen keeps', () => {
  const form = { accountForm: 'provider_account' } as const;
  const wallet = { ...form, deliveryType: 'MOBILE_WALLET' } as const;

  test('a wallet is a balance account, a bank account a transfer instrument', () => {
    const toWallet = describeRecipient({ attributes: adyenAttributes.wallet }, {}, wallet);
    assert.deepEqual(toWallet, {
      ok: true,
      counterparty: { balanceAccountId: 'BA00000000000000000000777' },
    });
    const toBank = describeRecipient({ attributes: adyenAttributes.instrument }, {}, form);
    assert.deepEqual(toBank, {
      ok: true,
      counterparty: { transferInstrumentId: 'SE1234567890ABC1234567890' },
    });
    for (const payer of [form, wallet]) {
      assert.deepEqual(listFields(describeRecipient({ attributes: {} }, {}, payer)), [
        'BankAccountNumber missing',
      ]);
      for (const BankAccountNumber of ['BA 777', '4111111111111111', 'x'.repeat(41)]) {
        const result = describeRecipient({ attributes: { BankAccountNumber } }, {}, payer);
        assert.deepEqual(listFields(result), ['BankAccountNumber invalid'], BankAccountNumber);
      }
    }
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
    const collected = collectAttributes(makeDeclaredCorridor(payer, currency));
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

  test('of cards, wallets and transfer instruments can be paid, and have priorities only to banks', () => {
    for (const changes of [
      { accountForm: 'stored_card' },
      { accountForm: 'provider_account' },
      { accountForm: 'provider_account', deliveryType: 'MOBILE_WALLET' },
    ] as const) {
      assert.deepEqual(check(changes), []);
      const isToBank = !('deliveryType' in changes) && changes.accountForm === 'provider_account';
      const faults = check(changes, { priorities: 'fast,regular' });
      assert.equal(faults.length, isToBank ? 0 : 1, JSON.stringify(changes));
    }
  });

  test('that can never be paid are refused at the start', () => {
    assert.match(check({ countryCode: 'CHL', currencies: ['CLP'] }).join(), /minor units of CLP/);
    assert.match(check({}, { priorities: 'regular,soon' }).join(), /options\.priorities/);
    assert.match(check({}, { counterparty: 'card' }).join(), /options/);
  });
});
