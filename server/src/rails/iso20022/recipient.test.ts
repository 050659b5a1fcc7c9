import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { beneficiary, makeConfig, testPayers } from '../../../testing/setups/iso20022.ts';
import type { Beneficiary, RecipientDraft } from '../contract/contract.ts';
import { hasUnwritable, toLatinText } from './latin-text.ts';
import { groupTransfers, writePaymentFile } from './pain001.ts';
import { checkRecipient } from './recipient-check.ts';
import { draftTransfer } from './transfer.ts';

const config = makeConfig('/nowhere');
const settings = { config, payers: testPayers };

const abroad: RecipientDraft = {
  payerKey: 'world',
  countryCode: 'USA',
  deliveryType: 'BANK_DEPOSIT',
  currency: 'USD',
  amountMinor: 10_000n,
  attributes: { BankAccountNumber: '000123456789', BankRoutingNumber: '021000021' },
  beneficiary,
};
const inside: RecipientDraft = {
  ...abroad,
  payerKey: 'eu',
  countryCode: 'DEU',
  currency: 'EUR',
  attributes: { BankAccountNumber: 'DE89370400440532013000' },
};

function check(some: Partial<RecipientDraft>, base = inside): string[] {
  return checkRecipient({ ...base, ...some }, settings).map(
    ({ field, code }) => `${field} ${code}`,
  );
}

function person(some: Partial<Beneficiary>): Pick<RecipientDraft, 'beneficiary'> {
  return { beneficiary: { ...beneficiary, ...some } };
}

describe('accounts and banks', () => {
  test('an IBAN with a wrong digit is never taken for another account number', () => {
    const wrong = { BankAccountNumber: 'DE89370400440532013001' };
    assert.deepEqual(check({ attributes: wrong }), ['BankAccountNumber invalid']);
    assert.deepEqual(check({ attributes: { ...wrong, SWIFT: 'OTLYUS33' } }, abroad), [
      'BankAccountNumber invalid',
    ]);
    const short = { BankAccountNumber: 'DE8937040044053201300' };
    assert.deepEqual(check({ attributes: short }), ['BankAccountNumber invalid']);
  });

  test('an IBAN of another country than the destination is refused', () => {
    const iranian = { BankAccountNumber: 'IR580540105180021273113007' };
    assert.deepEqual(check({ attributes: iranian }), ['BankAccountNumber invalid']);
    const french = { BankAccountNumber: 'FR1420041010050500013M02606' };
    assert.deepEqual(check({ attributes: french }), ['BankAccountNumber invalid']);
    assert.deepEqual(check({ attributes: french, countryCode: 'REU' }), [], 'of a territory');
  });

  test('a BIC of another bank than the account is refused', () => {
    const dutch = { countryCode: 'NLD' };
    const account = { BankAccountNumber: 'NL91ABNA0417164300' };
    assert.deepEqual(check({ ...dutch, attributes: { ...account, SWIFT: 'ABNANL2A' } }), []);
    assert.deepEqual(check({ ...dutch, attributes: { ...account, SWIFT: 'INGBNL2A' } }), [
      'SWIFT invalid',
    ]);
    const german = { BankAccountNumber: 'DE89370400440532013000' };
    assert.deepEqual(check({ attributes: { ...german, SWIFT: 'COBADEFF' } }), []);
    assert.deepEqual(check({ attributes: { ...german, SWIFT: 'BNPAFRPP' } }), ['SWIFT invalid']);
    const american = { BankAccountNumber: '000123456789', SWIFT: 'BNPAFRPP' };
    assert.deepEqual(check({ attributes: american }, abroad), ['SWIFT invalid']);
  });

  test('an amount with more digits than a file carries is refused by the send', () => {
    assert.deepEqual(check({ amountMinor: 999_999_999_999_999_999n }, abroad), []);
    assert.deepEqual(check({ amountMinor: 10n ** 18n }, abroad), ['amount amount_refused']);
    assert.deepEqual(check({ amountMinor: 100_000_000_000n }), ['amount amount_refused']);
  });
});

describe('names and addresses', () => {
  test('the town is needed abroad and not inside SEPA, from the user or from an attribute', () => {
    assert.deepEqual(check(person({ city: '' }), abroad), ['city missing']);
    assert.deepEqual(check(person({ city: '' })), []);
    const attributes = { ...abroad.attributes, City: 'Austin' };
    assert.deepEqual(check({ ...person({ city: '' }), attributes }, abroad), []);
    assert.deepEqual(check({ ...person({ city: '' }), attributes: undefined }, abroad), []);
  });

  test('symbols have no transliteration and are refused, with all faults at once', () => {
    const strange = person({ firstName: '😀', city: '🏠', address2: '™' });
    assert.deepEqual(check(strange, abroad), [
      'first_name invalid',
      'address2 invalid',
      'city invalid',
    ]);
    assert.deepEqual(check({ ...strange, attributes: undefined }), ['first_name invalid']);
    assert.deepEqual(check(person({ firstName: '', lastName: '' })), ['last_name missing']);
    assert.equal(toLatinText('Zoe 😀', 70), 'Zoe');
  });

  test('letters of any script, joiners and ASCII have one', () => {
    const persian = 'می\u200cخواهم';
    for (const text of ['李小龍', 'Ольга', persian, "O'Neil <x>", 'x^2', 'Łukasz']) {
      assert.equal(hasUnwritable(text), false, text);
      assert.match(toLatinText(text, 70), /[A-Za-z0-9]/);
    }
    for (const text of ['😀', '€', '♥', '©']) {
      assert.equal(hasUnwritable(text), true, text);
    }
  });

  test('the second line of the address goes with the street, or as the building', () => {
    assert.match(
      write({ address1: 'Main St 1', address2: 'Apt 4B' }),
      /<StrtNm>Main St 1, Apt 4B</,
    );
    const long = 'A very long name of a street that has nearly seventy characters, No 17';
    const text = write({ address1: long, address2: 'Apt 4B' });
    assert.match(text, /<StrtNm>A very long[^<]*No 17<\/StrtNm><BldgNm>Apt 4B<\/BldgNm><PstCd>/);
  });
});

function write(some: Partial<Beneficiary>, version = 'pain.001.001.10'): string {
  const order = { ...abroad, ...person(some), attributes: abroad.attributes ?? {} };
  return writeOrder(order, version);
}

function writeOrder(
  order: Omit<RecipientDraft, 'attributes'> & { attributes: Readonly<Record<string, string>> },
  version: string,
): string {
  const versioned = makeConfig('/nowhere', { version });
  const originator = { accountId: 'a', name: 'Client' };
  const result = draftTransfer(
    { ...order, reference: 'R1', originator },
    { config: versioned, payers: testPayers },
  );
  if (!result.ok) throw new Error(`refused: ${result.faults[0].detail}`);
  const grouped = groupTransfers([result.transfer], { prefix: 'T1' });
  const file = { ...grouped, createdAtMs: 0, executionDay: '2026-03-04' };
  return writePaymentFile(file, versioned);
}

test('the address of the debtor has town and country, or there is none', () => {
  const address = /<Dbtr><Nm>[^<]*<\/Nm><PstlAdr><TwnNm>Koln<\/TwnNm><Ctry>DE<\/Ctry><\/PstlAdr>/;
  const sepa = { ...inside, attributes: inside.attributes ?? {} };
  assert.match(write({}), address);
  assert.match(writeOrder(sepa, 'pain.001.001.10'), address);
  // The forms of version 09 for SEPA know no town, and inside the EEA none is needed.
  assert.doesNotMatch(writeOrder(sepa, 'pain.001.001.09'), /PstlAdr/);
  const swiss = { countryCode: 'CHE', attributes: { BankAccountNumber: 'CH9300762011623852957' } };
  assert.match(writeOrder({ ...sepa, ...swiss }, 'pain.001.001.09'), address);
});
