import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validate } from 'ivms101';
import type { Beneficiary, Sender } from '../rails/contract/contract.ts';
import { buildIvms101 } from './ivms101.ts';
import { isLei } from './sender.ts';

const sender: Sender = {
  legalName: 'Muster Marktplatz GmbH',
  address1: 'Beispielweg 7',
  city: 'Köln',
  stateProvince: '',
  postalCode: '50667',
  countryCode: 'DEU',
  registrationType: 'LEIX',
  registrationId: '529900T8BM49AURSDO55',
  registrationAuthority: '',
};

const person: Beneficiary = {
  firstName: 'Amara',
  middleName: 'Ngozi',
  lastName: 'Okafor',
  businessName: '',
  address1: '4 Marina Road',
  address2: '',
  city: 'Lagos',
  stateProvince: '',
  postalCode: '',
  countryCode: 'NGA',
  email: '',
  mobileNumber: '',
  dateOfBirth: '',
};

const originator = { accountId: '0197', name: 'shop' };
const attributes = { BankAccountNumber: '0x52908400098527886E0F7030069857D2E4169EE7' };

test('messages have the form of IVMS101.2023', () => {
  const persons = [person, { ...person, businessName: 'Okafor Ltd' }];
  for (const beneficiary of persons) {
    for (const registration of [
      {},
      { registrationType: 'RAID', registrationId: 'HRB 1', registrationAuthority: 'RA000242' },
      { registrationType: '', registrationId: '' },
    ] as const) {
      const message = buildIvms101(
        { beneficiary, originator, attributes },
        { ...sender, ...registration },
      );
      validate(message);
    }
  }
  const message = buildIvms101({ beneficiary: person, originator, attributes }, sender);
  const [beneficiary] = message.beneficiary.beneficiaryPerson;
  assert.deepEqual(beneficiary?.naturalPerson?.name.nameIdentifier, [
    {
      primaryIdentifier: 'Okafor',
      secondaryIdentifier: 'Amara Ngozi',
      naturalPersonNameIdentifierType: 'LEGL',
    },
  ]);
  assert.equal(beneficiary?.naturalPerson?.geographicAddress?.[0]?.country, 'NG');
  assert.deepEqual(beneficiary?.accountNumber, [attributes.BankAccountNumber]);
  assert.deepEqual(message.originator.originatorPerson[0]?.accountNumber, ['0197']);
});

test('legal entity identifiers have check digits', () => {
  assert.ok(isLei('529900T8BM49AURSDO55'));
  assert.ok(!isLei('529900T8BM49AURSDO56'));
  assert.ok(!isLei('529900T8BM49AURSDO5'));
});
