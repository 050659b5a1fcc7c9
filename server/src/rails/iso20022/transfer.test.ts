import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  beneficiary,
  makeConfig,
  makeInstruction,
  testPayers,
} from '../../../testing/setups/iso20022.ts';
import type { Instruction } from '../contract/contract.ts';
import { toLatinText } from './latin-text.ts';
import { draftTransfer, type Transfer } from './transfer.ts';

const config = makeConfig('/nowhere');

function draft(some: Partial<Instruction>): Transfer | string {
  const result = draftTransfer(makeInstruction(some), { config, payers: testPayers });
  return result.ok ? result.transfer : result.faults[0].reason;
}

function draftTransferOf(some: Partial<Instruction>): Transfer {
  const result = draft(some);
  if (typeof result === 'string') throw new Error(`refused: ${result}`);
  return result;
}

describe('texts for banks', () => {
  test('letters of any script become those that banks pass on', () => {
    const cases: readonly [string, string][] = [
      ['Zoë Müller-Łukasz', 'Zoe Muller-Lukasz'],
      ['Søren Ærø', 'Soren Aero'],
      ['Straße', 'Strasse'],
      ['Müller & Söhne', 'Muller + Sohne'],
      ['Ελένη', 'Eleni'],
      ['Ольга', "Ol'ga"],
      ['a\tb\nc', 'a b c'],
      ['x*y#z', 'x y z'],
      ['<b>"x"</b>', "b 'x' /b"],
    ];
    for (const [text, expected] of cases) assert.equal(toLatinText(text, 70), expected);
  });

  test('the result has only those characters, for any text', () => {
    for (let code = 0; code < 0x3000; code += 1) {
      const text = toLatinText(`a${String.fromCodePoint(code)}b`, 70);
      assert.match(text, /^[A-Za-z0-9/\-?:().,'+ ]*$/, code.toString(16));
    }
  });

  test('it neither begins nor ends with a slash, has no two in a row, and is cut', () => {
    assert.equal(toLatinText('//a//b//', 70), 'a/b');
    assert.equal(toLatinText(' :x ', 70), 'x');
    assert.equal(toLatinText('ab cd', 3), 'ab');
  });
});

describe('credit transfers', () => {
  test('euro to an IBAN inside SEPA is a SEPA transfer, shared by the rules of the scheme', () => {
    const transfer = draftTransferOf({});
    assert.equal(transfer.service, 'sepa');
    assert.equal(transfer.chargeBearer, 'SLEV');
    assert.equal(transfer.creditorName, 'Zoe Muller-Lukasz');
    assert.equal(transfer.creditorAddress, undefined);
  });

  test('euro to the countries that joined SEPA since 2025 go by its credit transfer alone', () => {
    const accounts = {
      ALB: 'AL47212110090000000235698741',
      MDA: 'MD24AG000225100013104168',
      MNE: 'ME25505000012345678951',
      MKD: 'MK07250120000058984',
      SRB: 'RS35260005601001611379',
    };
    for (const [countryCode, BankAccountNumber] of Object.entries(accounts)) {
      const given = { countryCode, attributes: { BankAccountNumber } };
      assert.equal(draftTransferOf(given).service, 'sepa', countryCode);
      assert.equal(draftTransferOf(given).chargeBearer, 'SLEV', countryCode);
      assert.equal(draft({ ...given, payerKey: 'instant' }), 'payer_unavailable', countryCode);
    }
  });

  test('a debtor without an address pays euro inside the European Economic Area alone', () => {
    const [debtor] = config.debtors;
    assert.ok(debtor);
    const debtors = [{ ...debtor, country: '', town: '' }];
    const settings = { config: { ...config, debtors }, payers: testPayers };
    const inside = draftTransfer(makeInstruction(), settings);
    assert.ok(inside.ok && inside.transfer.service === 'sepa');
    for (const [countryCode, BankAccountNumber] of [
      ['GBR', 'GB29NWBK60161331926819'],
      ['SRB', 'RS35260005601001611379'],
      ['TUR', 'TR330006100519786457841326'],
    ] as const) {
      const instruction = makeInstruction({ countryCode, attributes: { BankAccountNumber } });
      const outside = draftTransfer(instruction, settings);
      assert.ok(!outside.ok, countryCode);
      assert.deepEqual(
        outside.faults.map(({ reason }) => reason),
        ['payer_unavailable'],
      );
    }
  });

  test('a foreign account is paid by BIC, with structured address and charge bearer', () => {
    const transfer = draftTransferOf({
      payerKey: 'world',
      countryCode: 'BRA',
      currency: 'USD',
      attributes: {
        BankAccountNumber: '12345-6',
        SWIFT: 'OTLYBR22',
        RemittanceReason: 'FAMILY_SUPPORT',
      },
    });
    assert.equal(transfer.service, 'cross_border');
    assert.equal(transfer.chargeBearer, 'SHAR');
    assert.equal(transfer.agent.bic, 'OTLYBR22');
    assert.deepEqual(transfer.account, { kind: 'other', id: '12345-6' });
    assert.deepEqual(transfer.purpose, { code: 'DEPD' });
    assert.deepEqual(transfer.creditorAddress, {
      street: 'Rua do Acucar 17',
      building: '',
      postalCode: '01310-100',
      town: 'Sao Paulo',
      subdivision: 'SP',
      country: 'BR',
    });
  });

  test('banks are identified by their clearing code where there is no BIC', () => {
    const cases: readonly [string, Record<string, string>, string, string][] = [
      ['USA', { BankRoutingNumber: '021000021' }, 'USABA', '021000021'],
      ['GBR', { BankRoutingNumber: '20-00-00' }, 'GBDSC', '200000'],
      ['IND', { BankRoutingNumber: 'HDFC0000001' }, 'INFSC', 'HDFC0000001'],
      ['CAN', { BankRoutingNumber: '001', BankAccountBranchNumber: '00012' }, 'CACPA', '000100012'],
      ['JPN', { BankRoutingNumber: '0001', BankAccountBranchNumber: '001' }, 'JPZGN', '0001001'],
    ];
    for (const [countryCode, names, system, member] of cases) {
      const { agent } = draftTransferOf({
        payerKey: 'world',
        countryCode,
        currency: 'USD',
        attributes: { BankAccountNumber: '1234567', ...names },
      });
      assert.deepEqual(agent.clearing, { system, member }, countryCode);
    }
  });

  test("an authority's own purpose goes as it is, and not into SEPA", () => {
    const attributes = {
      BankAccountNumber: '50100012345678',
      BankRoutingNumber: 'HDFC0000001',
      RemittanceReason: 'P1301',
    };
    const abroad = draftTransferOf({
      payerKey: 'world',
      countryCode: 'IND',
      currency: 'USD',
      attributes,
    });
    assert.deepEqual(abroad.purpose, { proprietary: 'P1301' });
    const inside = makeInstruction();
    const sepa = draftTransferOf({
      attributes: { ...inside.attributes, RemittanceReason: 'P1301' },
    });
    assert.equal(sepa.purpose, undefined);
  });

  test('a transfer that a bank would return is refused before it leaves', () => {
    const wrong = { BankAccountNumber: 'DE89370400440532013001' };
    assert.equal(draft({ attributes: wrong }), 'invalid_details');
    assert.equal(draft({ attributes: {} }), 'invalid_details');
    assert.equal(draft({ currency: 'CHF' }), 'currency_refused');
    assert.equal(draft({ amountMinor: 100_000_000_000n }), 'amount_refused');
    for (const lastName of ['', '?', '...']) {
      const nameless = { ...beneficiary, firstName: '', lastName };
      assert.equal(draft({ beneficiary: nameless }), 'invalid_details', lastName);
    }
    const unknownBank = { BankAccountNumber: '1234567' };
    assert.equal(
      draft({ payerKey: 'world', countryCode: 'PHL', currency: 'USD', attributes: unknownBank }),
      'payer_unavailable',
    );
    const wrongBic = { BankAccountNumber: '1234567', SWIFT: 'NOBIC' };
    assert.equal(
      draft({ payerKey: 'world', countryCode: 'PHL', currency: 'USD', attributes: wrongBic }),
      'invalid_details',
    );
  });
});
