import { findCountry } from '../core/country.ts';
import { findCurrency, findCurrencyFault } from '../core/currency.ts';
import { parseRate } from '../core/rate.ts';
import type { Rail } from '../rails/contract/contract.ts';
import {
  isCalendar,
  isTimeZone,
  isWeekend,
  permitted,
  timePattern,
} from '../rails/contract/declaration-values.ts';
import {
  type AccountForm,
  type AvailabilityRule,
  type DeliveryType,
  deliveryTypes,
  type FeeStep,
  type PayerDeclaration,
  type Tariff,
} from '../rails/contract/declarations.ts';
import { readFeeSteps, readUsdMinor } from './pricing.ts';

/** Part of the names of ledger accounts. */
const railPattern = /^[a-z0-9_]{1,40}$/;
const keyPattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const keyForm = 'lower-case letters and digits, with single hyphens between them';

/** A margin or percentage above a fifth of the amount is taken for a typing error. */
const basisPointsMax = 2_000;
/** A smaller limit could become 0 in a currency with a large minor unit, and 0 means no limit. */
const maxLimitUsdMinorMin = 100n;
const rateLockSecondsMin = 10;
const rateLockSecondsMax = 86_400;
const delayMinutesMax = 10_080;
const delayBusinessDaysMax = 30;

/** The delivery types whose money a form of account can take. */
const reaches: Readonly<Record<AccountForm, readonly DeliveryType[]>> = {
  stored_card: ['BANK_DEPOSIT'],
  provider_account: ['BANK_DEPOSIT', 'MOBILE_WALLET'],
};

type DeclaredRail = Pick<Rail, 'name' | 'companies' | 'payers'>;

/** @throws Error if the name or the companies of the rail are invalid. */
export function checkRail(rail: DeclaredRail): void {
  const [fault] = listCompanyFaults(rail);
  if (fault !== undefined) throw new Error(fault);
}

/** @throws Error with every fault of the payer's declaration. */
export function checkPayer(
  railName: string,
  payer: PayerDeclaration,
  companyIsKnown: boolean,
): void {
  const faults = listPayerFaults(payer, companyIsKnown);
  if (faults.length > 0) throw new Error(`payer ${railName}/${payer.key}: ${faults.join('; ')}`);
}

/** Every fault of the declarations of a rail: its name, its companies and its payers. */
export function listDeclarationFaults(rail: DeclaredRail): string[] {
  const companies = new Set(rail.companies.map(({ key }) => key));
  const keys = new Set<string>();
  const faults = listCompanyFaults(rail);
  for (const payer of rail.payers) {
    const found = listPayerFaults(payer, companies.has(payer.companyKey));
    if (keys.has(payer.key)) found.push('its key is already used');
    keys.add(payer.key);
    faults.push(...found.map((fault) => `payer ${rail.name}/${payer.key}: ${fault}`));
  }
  return faults;
}

function listCompanyFaults(rail: DeclaredRail): string[] {
  const faults: string[] = [];
  if (!railPattern.test(rail.name))
    faults.push(
      `rail ${rail.name}: its name must be 1 to 40 lower-case letters, digits or underscores`,
    );
  const keys = new Set<string>();
  for (const { key, name, logo } of rail.companies) {
    const company = `company ${rail.name}/${key}`;
    if (!keyPattern.test(key)) faults.push(`${company}: its key must be ${keyForm}`);
    if (keys.has(key)) faults.push(`${company}: its key is already used`);
    if (name === '') faults.push(`${company}: its name must not be empty`);
    if (!isPng(logo)) faults.push(`${company}: its logo must be a PNG in Base64`);
    keys.add(key);
  }
  return faults;
}

function listPayerFaults(payer: PayerDeclaration, companyIsKnown: boolean): string[] {
  const faults = listFaults(payer);
  if (!companyIsKnown) faults.push(`unknown company ${payer.companyKey}`);
  return faults;
}

function listFaults(payer: PayerDeclaration): string[] {
  const faults: string[] = [];
  const expect = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault);
  };
  expect(keyPattern.test(payer.key), `its key must be ${keyForm}`);
  expect(payer.payerName !== '', 'its name must not be empty');
  expect(isPng(payer.logo), 'its logo must be a PNG in Base64');
  expect(findCountry(payer.countryCode) !== undefined, `unknown country ${payer.countryCode}`);
  expect(deliveryTypes.includes(payer.deliveryType), 'unknown delivery type');
  const reached = payer.accountForm === undefined ? deliveryTypes : reaches[payer.accountForm];
  expect(
    reached.includes(payer.deliveryType),
    `accountForm ${payer.accountForm} must be of ${reached.join(' or ')}`,
  );
  const { numberOfLocations, rateLockSeconds } = payer;
  expect(
    isWhole(numberOfLocations, 0, Number.MAX_SAFE_INTEGER),
    'numberOfLocations must be a whole number',
  );
  const holds =
    rateLockSeconds === null || isWhole(rateLockSeconds, rateLockSecondsMin, rateLockSecondsMax);
  expect(holds, `rateLockSeconds must be ${rateLockSecondsMin} to ${rateLockSecondsMax}, or null`);
  const { verification } = payer;
  const amount = verification.kind === 'above' ? readUsdMinor(verification.amount) : 0n;
  expect(amount !== undefined, 'its verification amount must be an amount of USD');
  return [
    ...faults,
    ...listCurrencyFaults(payer.currencies),
    ...listTariffFaults(payer.tariffs),
    ...listAvailabilityFaults(payer.availability),
  ];
}

function listCurrencyFaults(currencies: readonly string[]): string[] {
  const faults = currencies.flatMap((code) => {
    const fault = findCurrencyFault(code);
    return fault === undefined ? [] : [`currency ${code} ${fault}`];
  });
  if (currencies.length === 0) faults.push('it must have a currency');
  if (new Set(currencies).size < currencies.length) faults.push('a currency occurs twice');
  return faults;
}

const instantPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

function listTariffFaults(tariffs: readonly Tariff[]): string[] {
  const faults: string[] = [];
  let fromMs = Number.NEGATIVE_INFINITY;
  for (const [index, tariff] of tariffs.entries()) {
    const { effectiveFrom } = tariff;
    if (index === 0) {
      if (effectiveFrom !== null) faults.push('effectiveFrom of its first tariff must be null');
    } else if (effectiveFrom === null || !instantPattern.test(effectiveFrom)) {
      faults.push(`effectiveFrom ${effectiveFrom} must have the form YYYY-MM-DDThh:mm:ssZ`);
    } else {
      if (!(Date.parse(effectiveFrom) > fromMs))
        faults.push('its tariffs must be in the order of effectiveFrom');
      fromMs = Date.parse(effectiveFrom);
    }
    faults.push(...listPriceFaults(tariff));
  }
  if (tariffs.length === 0) faults.push('it must have a tariff');
  return faults;
}

const listPriceFaults = checkOnce((tariff: Tariff) => {
  const { marginBasisPoints: margin } = tariff;
  return [
    ...(isWhole(margin, 0, basisPointsMax)
      ? []
      : [`marginBasisPoints ${margin} must be 0 to ${basisPointsMax}`]),
    ...listFeeFaults(tariff.fee),
    ...listLimitFaults(tariff),
    ...listRateFaults(tariff.rates),
  ];
});

function listRateFaults(rates: Tariff['rates']): string[] {
  return Object.entries(rates).flatMap(([pair, rate]) => {
    const [from = '', to = ''] = pair.split('/');
    if (findCurrency(from) === undefined || findCurrency(to) === undefined || from === to) {
      return [`the rate of ${pair} must be of two currencies, such as USD/EUR`];
    }
    return parseRate(rate) === undefined ? [`the rate of ${pair} must be a positive decimal`] : [];
  });
}

function listFeeFaults(fee: readonly FeeStep[]): string[] {
  const steps = readFeeSteps(fee);
  if (steps === undefined) return ['the amounts of its fee must be amounts of USD'];
  const last = steps.at(-1);
  if (last === undefined) return ['it must have a fee step'];
  const faults: string[] = [];
  if (last.upToUsdMinor !== null) faults.push('upTo of its last fee step must be null');
  let over = 0n;
  for (const [index, { upToUsdMinor, basisPoints }] of steps.entries()) {
    if (!isWhole(basisPoints, 0, basisPointsMax))
      faults.push(`basisPoints ${basisPoints} of its fee must be 0 to ${basisPointsMax}`);
    if (index === steps.length - 1) break;
    if (upToUsdMinor === null)
      faults.push('upTo of its fee steps before the last must not be null');
    else if (upToUsdMinor <= over) faults.push('its fee steps must be in the order of upTo');
    over = upToUsdMinor ?? over;
  }
  return faults;
}

function listLimitFaults({ minLimit, maxLimit }: Tariff): string[] {
  const min = readUsdMinor(minLimit);
  const max = readUsdMinor(maxLimit);
  if (min === undefined || max === undefined) return ['its limits must be amounts of USD'];
  if (max === 0n) return [];
  if (max < maxLimitUsdMinorMin) return ['maxLimit must be at least 1 USD, or 0 for no limit'];
  return min > max ? ['minLimit must not exceed maxLimit'] : [];
}

const listAvailabilityFaults = checkOnce((rule: AvailabilityRule) => {
  const faults: string[] = [];
  const { timeZone, calendar, weekend, cutOff, delay } = rule;
  if (!isTimeZone(timeZone)) faults.push(`unknown time zone ${timeZone}`);
  if (calendar !== null && !isCalendar(calendar)) {
    faults.push(`unknown calendar ${calendar}: it ${permitted.calendar}`);
  }
  if (!isWeekend(weekend)) faults.push(`its weekend ${permitted.weekend}`);
  if (cutOff !== null && !timePattern.test(cutOff))
    faults.push(`cutOff ${cutOff} must be a time, hh:mm`);
  if ('minutes' in delay) {
    if (!isWhole(delay.minutes, 0, delayMinutesMax))
      faults.push(`minutes ${delay.minutes} must be 0 to ${delayMinutesMax}`);
    return faults;
  }
  if (!isWhole(delay.businessDays, 0, delayBusinessDaysMax)) {
    faults.push(`businessDays ${delay.businessDays} must be 0 to ${delayBusinessDaysMax}`);
  }
  if (!timePattern.test(delay.arrival))
    faults.push(`arrival ${delay.arrival} must be a time, hh:mm`);
  // Money promised for the same day must arrive after the last moment of sending it.
  if (delay.businessDays === 0 && (cutOff === null || cutOff >= delay.arrival)) {
    faults.push('with 0 businessDays, arrival must be after cutOff');
  }
  return faults;
});

/** Thousands of payers share a few rules and tariffs, and checking a time zone is expensive. */
function checkOnce<T extends object>(check: (part: T) => string[]): (part: T) => readonly string[] {
  const checked = new WeakMap<T, readonly string[]>();
  return (part) => {
    const faults = checked.get(part) ?? check(part);
    checked.set(part, faults);
    return faults;
  };
}

function isWhole(number: number, min: number, max: number): boolean {
  return Number.isInteger(number) && number >= min && number <= max;
}

/** By the signature at the beginning of every PNG, in Base64. */
function isPng(base64: string): boolean {
  return base64.startsWith('iVBORw0KGgo');
}
