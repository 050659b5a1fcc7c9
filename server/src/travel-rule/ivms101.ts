import { findCountry } from '../core/country.ts';
import { assert } from '../core/errors.ts';
import type { Beneficiary, Instruction, Sender } from '../rails/contract/contract.ts';

/**
 * Sender and recipient in the data model of the travel rule, IVMS101.2023 (interVASP). Countries are
 * ISO 3166-1 alpha-2. Only what is known is said.
 */

type Address = {
  /** Constraint C4 of the model counts only addresses of this type. */
  addressType: 'GEOG';
  addressLine?: string[];
  townName?: string;
  countrySubDivision?: string;
  postCode?: string;
  country: string;
};

type Person = {
  naturalPerson?: {
    name: {
      nameIdentifier: {
        primaryIdentifier: string;
        secondaryIdentifier?: string;
        naturalPersonNameIdentifierType: 'LEGL';
      }[];
    };
    geographicAddress?: Address[];
    countryOfResidence?: string;
  };
  legalPerson?: {
    name: {
      nameIdentifier: { legalPersonName: string; legalPersonNameIdentifierType: 'LEGL' }[];
    };
    geographicAddress?: Address[];
    nationalIdentification?: {
      nationalIdentifier: string;
      nationalIdentifierType: 'LEIX' | 'RAID' | 'TXID' | 'MISC';
      registrationAuthority?: string;
    };
    customerIdentification?: string;
    countryOfRegistration?: string;
  };
  accountNumber?: string[];
};

export type Ivms101 = {
  originator: { originatorPerson: Person[] };
  beneficiary: { beneficiaryPerson: Person[] };
  payloadMetadata: { payloadVersion: '101.2023' };
};

export function buildIvms101(
  instruction: Pick<Instruction, 'beneficiary' | 'originator' | 'attributes'>,
  sender: Sender,
): Ivms101 {
  const { beneficiary, originator, attributes } = instruction;
  return {
    originator: {
      originatorPerson: [{ ...describeSender(sender), accountNumber: [originator.accountId] }],
    },
    beneficiary: {
      beneficiaryPerson: [
        { ...describeBeneficiary(beneficiary), ...findAccountNumber(attributes) },
      ],
    },
    payloadMetadata: { payloadVersion: '101.2023' },
  };
}

function describeSender(sender: Sender): Person {
  const { registrationType: type, registrationId, registrationAuthority } = sender;
  const country = toAlpha2(sender.countryCode);
  return {
    legalPerson: {
      name: {
        nameIdentifier: [
          { legalPersonName: sender.legalName, legalPersonNameIdentifierType: 'LEGL' },
        ],
      },
      ...describeAddress(sender),
      ...(type !== '' && {
        nationalIdentification: {
          nationalIdentifier: registrationId,
          nationalIdentifierType: type,
          ...(registrationAuthority !== '' && { registrationAuthority }),
        },
      }),
      ...(country !== undefined && { countryOfRegistration: country }),
    },
  };
}

function describeBeneficiary(beneficiary: Beneficiary): Person {
  const country = toAlpha2(beneficiary.countryCode);
  if (beneficiary.businessName !== '') {
    const nameIdentifier = [
      {
        legalPersonName: beneficiary.businessName,
        legalPersonNameIdentifierType: 'LEGL' as const,
      },
    ];
    return { legalPerson: { name: { nameIdentifier }, ...describeAddress(beneficiary) } };
  }
  const given = [beneficiary.firstName, beneficiary.middleName].filter((name) => name !== '');
  return {
    naturalPerson: {
      name: {
        nameIdentifier: [
          {
            primaryIdentifier: beneficiary.lastName,
            ...(given.length > 0 && { secondaryIdentifier: given.join(' ') }),
            naturalPersonNameIdentifierType: 'LEGL',
          },
        ],
      },
      ...describeAddress(beneficiary),
      ...(country !== undefined && { countryOfResidence: country }),
    },
  };
}

type Place = Pick<
  Beneficiary,
  'address1' | 'city' | 'stateProvince' | 'postalCode' | 'countryCode'
>;

/** Nothing without a town: the model asks for more than a country. */
function describeAddress({ address1, city, stateProvince, postalCode, countryCode }: Place): {
  geographicAddress?: Address[];
} {
  const country = toAlpha2(countryCode);
  if (country === undefined || city === '') return {};
  const address: Address = {
    addressType: 'GEOG',
    addressLine: [address1 === '' ? city : address1],
    townName: city,
    ...(stateProvince !== '' && { countrySubDivision: stateProvince }),
    ...(postalCode !== '' && { postCode: postalCode }),
    country,
  };
  return { geographicAddress: [address] };
}

/** The attributes that name an account, in the order in which one is preferred. */
const accountTypes = ['BankAccountNumber', 'PhoneNumber'];

function findAccountNumber(attributes: Instruction['attributes']): { accountNumber?: string[] } {
  const type = accountTypes.find((name) => (attributes[name] ?? '') !== '');
  const value = type === undefined ? undefined : attributes[type];
  return value === undefined ? {} : { accountNumber: [value] };
}

function toAlpha2(code: string): string | undefined {
  if (code === '') return undefined;
  const country = findCountry(code);
  assert(country !== undefined, 'stored countries are known');
  return country.alpha2;
}
