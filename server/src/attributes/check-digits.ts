import { clabe } from 'clabe-validator';
import { isValidBIC, validateIBAN } from 'ibantools';
// Imported one by one, because the whole library takes 15 MB of memory.
import * as argentineCbu from 'stdnum/lib/cjs/ar/cbu.js';
import * as argentineCuit from 'stdnum/lib/cjs/ar/cuit.js';
import * as brazilianCnpj from 'stdnum/lib/cjs/br/cnpj.js';
import * as brazilianCpf from 'stdnum/lib/cjs/br/cpf.js';
import * as chileanRut from 'stdnum/lib/cjs/cl/rut.js';
import * as chineseRic from 'stdnum/lib/cjs/cn/ric.js';
import * as ecuadorianCi from 'stdnum/lib/cjs/ec/ci.js';
import * as ecuadorianRuc from 'stdnum/lib/cjs/ec/ruc.js';
import { InvalidChecksum } from 'stdnum/lib/cjs/exceptions.js';
import * as indianAadhaar from 'stdnum/lib/cjs/in/aadhaar.js';
import * as indianPan from 'stdnum/lib/cjs/in/pan.js';
import * as mexicanCurp from 'stdnum/lib/cjs/mx/curp.js';
import * as newZealandBank from 'stdnum/lib/cjs/nz/bank.js';
import * as thaiIdnr from 'stdnum/lib/cjs/th/idnr.js';
import * as turkishKimlik from 'stdnum/lib/cjs/tr/tckimlik.js';
import * as southAfricanIdnr from 'stdnum/lib/cjs/za/idnr.js';
import { hasCardNumber, isLuhn } from '../core/card-number.ts';
import type { Check, Problem } from './field.ts';

/**
 * Check digits of account numbers, bank codes and national identifiers, by libraries where they
 * have the scheme. Every check expects a value that matches its field's pattern.
 */

const wrongDigits: Problem = {
  code: 'check_digit',
  detail: 'The check digits are wrong; a digit may be mistyped',
};

/** A repeated digit satisfies most schemes, and is typed to get past a form. */
const sameDigit = /^(.)\1+$/;

function fromBoolean(isValid: (value: string) => boolean): Check {
  return (value) => (isValid(value) && !sameDigit.test(value) ? undefined : wrongDigits);
}

/** Sum of digit times weight; the weights repeat. */
function weigh(digits: string, weights: readonly number[]): number {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    sum += Number(digits[index]) * (weights[index % weights.length] ?? 0);
  }
  return sum;
}

/** Remainder of a decimal number of any length by 97. */
function remainder97(digits: string): number {
  let remainder = 0;
  for (const digit of digits) remainder = (remainder * 10 + Number(digit)) % 97;
  return remainder;
}

export const checkCard = fromBoolean(isLuhn);

/** Whoever stores card numbers falls under PCI DSS with everything around it. */
export const refuseCardNumber: Check = (value) =>
  hasCardNumber(value)
    ? {
        code: 'card_number',
        detail: 'A card number is not accepted here: send the token that the payment provider gave',
      }
    : undefined;

/** ISO 13616, and the national check digits if the country has them. */
export const checkIban: Check = (value) => {
  if (validateIBAN(value).valid) return undefined;
  return {
    code: 'check_digit',
    detail: 'The check digits of the IBAN are wrong; a character may be mistyped',
  };
};

/** ISO 9362. */
export const checkBic: Check = (value) =>
  isValidBIC(value)
    ? undefined
    : { code: 'not_a_bic', detail: 'The value must be a SWIFT/BIC (ISO 9362)' };

/**
 * American Bankers Association routing number: weights 3, 7, 1, and the first two digits are a
 * Federal Reserve district (00-12), a thrift (21-32), electronic (61-72) or traveler's checks (80).
 */
export const checkAba: Check = (value) => {
  const district = Number(value.slice(0, 2));
  const isDistrict =
    district <= 12 ||
    (district >= 21 && district <= 32) ||
    (district >= 61 && district <= 72) ||
    district === 80;
  if (!isDistrict || value === '000000000') {
    return { code: 'unknown_bank', detail: 'No bank has a routing number in this range' };
  }
  return weigh(value, [3, 7, 1]) % 10 === 0 ? undefined : wrongDigits;
};

/**
 * Banco de México's CLABE. The bank code is not checked, because a list of banks would become
 * outdated.
 */
export const checkClabe = fromBoolean(
  (value) => clabe.computeChecksum(value.slice(0, 17)) === Number(value[17]),
);

/**
 * Nigeria's NUBAN (Central Bank of Nigeria, 2010, revised 2020): weights 3, 7, 3 over bank code and
 * serial number. Only the codes of deposit money banks (three digits, or six beginning with 000)
 * are checked: other institutions use telephone numbers as account numbers.
 */
export const checkNuban: Check = (value, { values }) => {
  const bank = (values.get('BankRoutingNumber') ?? '').replace(/^000(?=[0-9]{3}$)/, '');
  if (bank.length !== 3) return undefined;
  const sum = weigh(bank + value.slice(0, 9), [3, 7, 3]);
  if ((10 - (sum % 10)) % 10 === Number(value[9])) return undefined;
  return {
    code: 'check_digit',
    detail: 'The account number does not belong to this bank; a digit may be mistyped',
  };
};

/**
 * The key of a French-style account number (relevé d'identité bancaire): the whole number, letters
 * turned to digits (A and J are 1, S is 2), divides by 97. Used in the West and Central African
 * monetary unions, Morocco, Madagascar, Comoros.
 */
export const checkRib = fromBoolean((value) => {
  const digits = value.replace(/[A-Z]/g, (letter) => {
    const place = letter.charCodeAt(0) - 65;
    return String(place < 18 ? (place % 9) + 1 : place - 16);
  });
  return remainder97(digits) === 0;
});

/** Portuguese-style NIB (Angola, Cape Verde, Mozambique): ISO 7064 mod 97-10 over 21 digits. */
export const checkNib = fromBoolean((value) => remainder97(value) === 1);

/**
 * Peru's CCI: weights 1, 2 with the digits of each product added, once over bank and branch, once
 * over the account; the two check digits stand at the end.
 */
export const checkCci = fromBoolean((value) => {
  const digitFor = (part: string): number => {
    let sum = 0;
    for (let index = 0; index < part.length; index += 1) {
      const product = Number(part[index]) * ((index % 2) + 1);
      sum += product > 9 ? product - 9 : product;
    }
    return (10 - (sum % 10)) % 10;
  };
  const expected = `${digitFor(value.slice(0, 6))}${digitFor(value.slice(6, 18))}`;
  return expected === value.slice(18);
});

/**
 * Russia's control key (Bank of Russia, order 515 of 1997): the last three digits of the BIK and
 * the account, weights 7, 1, 3, end in zero. A settlement centre of the Bank itself (BIK ending in
 * 000 to 002) enters with `0` and two digits of its region instead.
 */
export const checkRussianAccount: Check = (value, { values }) => {
  const bik = values.get('BankRoutingNumber') ?? '';
  if (bik.length !== 9) return undefined;
  const ending = bik.slice(6);
  const start = Number(ending) <= 2 ? `0${bik.slice(4, 6)}` : ending;
  if (weigh(start + value, [7, 1, 3]) % 10 === 0) return undefined;
  return {
    code: 'check_digit',
    detail: 'The account number does not belong to the bank with this BIK',
  };
};

type Validator = { validate(value: string): { isValid: boolean } };

function fromLibrary(...validators: readonly Validator[]): Check {
  return fromBoolean((value) => validators.some((one) => one.validate(value).isValid));
}

export const checkCbu = fromLibrary(argentineCbu);
export const checkCuit = fromLibrary(argentineCuit);
export const checkCpfOrCnpj = fromLibrary(brazilianCpf, brazilianCnpj);
export const checkRut = fromLibrary(chileanRut);
export const checkCedulaOrRuc = fromLibrary(ecuadorianCi, ecuadorianRuc);

/**
 * Sixteen digits: bank 2, branch 4, base 7, suffix 3; a suffix of two digits gets a leading zero.
 */
export function normalizeNewZealandAccount(value: string): string {
  const digits = value.replaceAll('-', '');
  return digits.length === 15 ? `${digits.slice(0, 13)}0${digits.slice(13)}` : digits;
}

/** Only the check digits are checked: the library's branch ranges are of 2014. */
export const checkNewZealandAccount: Check = (value) => {
  const { error } = newZealandBank.validate(normalizeNewZealandAccount(value));
  return error instanceof InvalidChecksum ? wrongDigits : undefined;
};

/** Numbers of identity documents with check digits, by country and kind of document. */
export const documentChecks: Readonly<Record<string, Check>> = {
  'BRA CPF': fromLibrary(brazilianCpf),
  'CHN RESIDENT_ID': fromLibrary(chineseRic),
  'IND AADHAAR': fromLibrary(indianAadhaar),
  'IND PAN': fromLibrary(indianPan),
  'MEX CURP': fromLibrary(mexicanCurp),
  'THA NATIONAL_ID': fromLibrary(thaiIdnr),
  'TUR KIMLIK': fromLibrary(turkishKimlik),
  'ZAF NATIONAL_ID': fromLibrary(southAfricanIdnr),
};
