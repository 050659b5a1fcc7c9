import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  Metadata,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import { getCountry } from '../core/country.ts';
import { type Check, type Field, field } from './field.ts';

/**
 * Mobile numbers in the international form (ITU-T E.164), by the numbering plans of libphonenumber.
 */

/** A longer pattern is of no help to a person and is replaced by the possible lengths. */
const patternLengthMax = 100;

const anyNumber = '\\+[1-9][0-9]{6,14}';

function findRegion(countryCode: string): CountryCode | undefined {
  const { alpha2 } = getCountry(countryCode);
  return isSupportedCountry(alpha2) ? alpha2 : undefined;
}

/** Methods of the library's metadata class that its types lack (its README, "Metadata"). */
type NumberingPlan = {
  selectNumberingPlan(region: CountryCode): void;
  countryCallingCode(): string;
  possibleLengths(): number[];
  /** Undefined if the plan does not distinguish mobile numbers. */
  type(name: 'MOBILE'): { pattern(): string | undefined; possibleLengths(): number[] } | undefined;
};

/** The pattern of a country's mobile numbers: that of its plan if short, else by the lengths. */
function describeNumbers(region: CountryCode): { pattern: string; callingCode: string } {
  const metadata = new Metadata() as unknown as NumberingPlan;
  metadata.selectNumberingPlan(region);
  const callingCode = metadata.countryCallingCode();
  const mobile = metadata.type('MOBILE');
  const plan = mobile?.pattern()?.replaceAll('\\d', '[0-9]') ?? '';
  if (plan !== '' && plan.length <= patternLengthMax) {
    return { pattern: `\\+${callingCode}(?:${plan})`, callingCode };
  }
  const lengths = mobile?.possibleLengths() ?? metadata.possibleLengths();
  const [shortest, longest] = [Math.min(...lengths), Math.max(...lengths)];
  const range = shortest === longest ? `${shortest}` : `${shortest},${longest}`;
  return { pattern: `\\+${callingCode}[0-9]{${range}}`, callingCode };
}

const mobileTypes = new Set(['MOBILE', 'FIXED_LINE_OR_MOBILE']);

const checkMobile: Check = (value, { countryCode }) => {
  const region = findRegion(countryCode);
  if (region === undefined) return undefined;
  const number = parsePhoneNumberFromString(value);
  if (number?.countryCallingCode === getCountryCallingCode(region)) {
    // Territories share a plan, as Åland does with Finland; the parser returns its main country.
    number.country = region;
    if (number.isValid() && mobileTypes.has(number.getType() ?? '')) return undefined;
  }
  return {
    code: 'not_a_mobile_number',
    detail: 'The number must be a mobile number of the country',
  };
};

/** The recipient's mobile number in the country. */
export function phoneField(
  countryCode: string,
  options: { label: string; isOptional: boolean },
): Field {
  const { label, isOptional } = options;
  const region = findRegion(countryCode);
  const { name } = getCountry(countryCode);
  if (region === undefined) {
    return field({
      type: 'PhoneNumber',
      label,
      pattern: anyNumber,
      hint: 'A telephone number: + and digits, with the country code',
      isOptional,
    });
  }
  const { pattern, callingCode } = describeNumbers(region);
  return field({
    type: 'PhoneNumber',
    label,
    pattern,
    hint: `A mobile number of ${name}: +${callingCode} and the national number, digits only`,
    isOptional,
    check: checkMobile,
  });
}
