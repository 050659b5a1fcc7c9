import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  makeForeignEntry,
  makeInstruction,
  readTestConfig,
  withIat,
} from '../../../testing/setups/nacha.ts';
import { isRoutingNumber } from './aba.ts';
import { toAsciiText } from './ascii-text.ts';
import { draftEntry } from './drafts.ts';

const config = readTestConfig(withIat());

function refuse(changes: Parameters<typeof makeInstruction>[1]): string {
  const result = draftEntry(makeInstruction('r1', changes), config, undefined);
  return result.ok ? 'taken' : result.reason;
}

test('an entry is drafted from the instruction', () => {
  const result = draftEntry(makeInstruction('r1'), config, undefined);
  assert.ok(result.ok);
  assert.deepEqual(result.draft, {
    reference: 'r1',
    payerKey: 'ach',
    countryCode: 'USA',
    amountMinor: 1234n,
    name: 'Zoe Fournier',
    speed: 'same_day',
    entryDescription: '',
    transactionCode: '22',
    entryClass: 'PPD',
    account: '1234567890',
    routingNumber: '021000021',
  });
});

test('a payment that ACH cannot carry is refused with a reason', () => {
  const { attributes } = makeInstruction('r1');
  const withAttribute = (name: string, value: string) =>
    refuse({ attributes: { ...attributes, [name]: value } });
  assert.equal(withAttribute('BankRoutingNumber', '021000022'), 'invalid_details');
  assert.equal(withAttribute('BankRoutingNumber', ''), 'invalid_details');
  assert.equal(withAttribute('BankAccountNumber', '0000'), 'invalid_details');
  assert.equal(withAttribute('BankAccountNumber', '123456789012345678'), 'invalid_details');
  assert.equal(withAttribute('BankAccountType', 'LOAN'), 'invalid_details');
  assert.equal(refuse({ currency: 'EUR' }), 'currency_refused');
  assert.equal(refuse({ amountMinor: 10_000_000_000n }), 'amount_refused');
  assert.equal(refuse({ deliveryType: 'CASH_PICKUP' }), 'not_configured');
  assert.equal(refuse({ countryCode: 'CAN' }), 'invalid_details');
  const cyrillic = { ...makeInstruction('r1').beneficiary, firstName: 'Иван', lastName: 'Петров' };
  assert.equal(refuse({ beneficiary: cyrillic }), 'invalid_details');
});

test('an account abroad is paid by IAT, with name, address and bank', () => {
  const result = draftEntry(makeForeignEntry('r2'), config, undefined);
  assert.ok(result.ok && result.draft.entryClass === 'IAT');
  assert.equal(result.draft.routingNumber, '091000019');
  assert.equal(result.draft.speed, 'next_day');
  assert.equal(result.draft.international.country, 'CA');
  assert.equal(result.draft.international.receiverCity, 'Lettertown*AB\\');
  assert.equal(result.draft.international.bankIdQualifier, '02');
  const unknown = draftEntry(makeForeignEntry('r2'), readTestConfig(), undefined);
  assert.deepEqual(unknown, { ok: false, reason: 'not_configured' });
});

test('Latin names become plain letters and are cut to their field', () => {
  assert.equal(toAsciiText('Łukasz Þór Straße', 22), 'Lukasz Thor Strasse');
  assert.equal(toAsciiText('Nguyễn  Văn O’Hara*\\', 22), "Nguyen Van O'Hara");
  assert.equal(toAsciiText('Əliyev Ħabib ẞ', 22), 'Eliyev Habib SS');
  assert.equal(toAsciiText('abcdefghij klm', 11), 'abcdefghij');
  assert.equal(toAsciiText('Acme™ & Co. №5', 22), 'AcmeTM & Co. No5');
});

test('a name with a letter or digit of another script is refused, never shortened', () => {
  const names = [
    'Абв',
    '李小龙 Lee',
    'Ωmega Trading',
    'Lee 李',
    'Oѕama',
    'Jörg Мюллер',
    '٣ Stars',
    'ジョン',
  ];
  for (const name of names) {
    assert.equal(toAsciiText(name, 22), undefined, name);
    const { beneficiary } = makeInstruction('r1');
    assert.equal(refuse({ beneficiary: { ...beneficiary, firstName: name } }), 'invalid_details');
  }
  const { beneficiary } = makeForeignEntry('r2');
  for (const part of ['address1', 'city', 'stateProvince', 'postalCode'] as const) {
    const changed = makeForeignEntry('r2', { beneficiary: { ...beneficiary, [part]: 'Nord 北' } });
    assert.deepEqual(draftEntry(changed, config, undefined), {
      ok: false,
      reason: 'invalid_details',
    });
  }
});

test('the state in an IAT is written as a whole, or the payment is refused', () => {
  const { beneficiary } = makeForeignEntry('r2');
  const draftCity = (city: string, stateProvince: string) => {
    const changed = makeForeignEntry('r2', {
      beneficiary: { ...beneficiary, city, stateProvince },
    });
    const result = draftEntry(changed, config, undefined);
    return result.ok && result.draft.entryClass === 'IAT'
      ? result.draft.international.receiverCity
      : 'refused';
  };
  assert.equal(draftCity('Monterrey', 'Nuevo León'), 'Monterrey*Nuevo Leon\\');
  assert.equal(
    draftCity('San Luis Potosí', 'San Luis Potosí'),
    'San Luis Potosi*San Luis Potosi\\',
  );
  assert.equal(
    draftCity('San Cristóbal de las Casas', 'Chiapas'),
    'San Cristobal de las Casas*Chiapas\\',
  );
  assert.equal(draftCity('San Cristóbal de las Casas', 'Chiapas de Corzo'), 'refused');
  assert.equal(draftCity('Singapore', ''), 'Singapore*\\');
});

test('an IAT states a screening of its parties only where there was one', () => {
  const read = (screening?: 'clear' | 'not_screened') => {
    const instruction = makeForeignEntry('r2', screening === undefined ? {} : { screening });
    const result = draftEntry(instruction, config, undefined);
    assert.ok(result.ok && result.draft.entryClass === 'IAT');
    const { gatewayScreening, secondaryScreening } = result.draft.international;
    return [gatewayScreening, secondaryScreening];
  };
  assert.deepEqual(read('clear'), ['', '0']);
  assert.deepEqual(read('not_screened'), ['', '']);
  assert.deepEqual(read(), ['', '']);
  assert.throws(() => readTestConfig(withIat({ secondaryScreening: '0' })), /must be removed/);
});

test('a routing number has its check digit and a known range', () => {
  for (const number of ['021000021', '121042882', '231380104', '091000019']) {
    assert.equal(isRoutingNumber(number), true, number);
  }
  for (const number of ['021000022', '000000000', '12104288', '991000018', '12104288a']) {
    assert.equal(isRoutingNumber(number), false, number);
  }
});
