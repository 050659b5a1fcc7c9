import { findCountry, listCountries } from '../core/country.ts';
import { findCurrency } from '../core/currency.ts';
import { parseRate } from '../core/rate.ts';
import type { Rail } from '../rails/contract.ts';
import {
  type AvailabilityRule,
  deliveryTypes,
  type FeeStep,
  type PayerDeclaration,
  type Tariff,
} from '../rails/declarations.ts';
import { readFeeSteps, readUsdMinor } from './pricing.ts';

/** It is a part of the names of ledger accounts. */
const railPattern = /^[a-z0-9_]{1,40}$/;
const keyPattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const timePattern = /^(?:[01]\d|2[0-3]):[0-5]\d$/;

/** Past a fifth of the amount a margin or a percentage is a slip of the pen. */
const basisPointsMax = 2_000;
/** A smaller bound could be nothing in a currency with a coarse minor unit, and 0 is no bound. */
const maxLimitUsdMinorMin = 100n;
const rateLockSecondsMin = 10;
const rateLockSecondsMax = 86_400;
const delayMinutesMax = 10_080;
const delayBusinessDaysMax = 30;

/** Throws when the rail's name or its companies cannot make stable destination tokens. */
export function checkRail(rail: Rail): void {
  if (!railPattern.test(rail.name)) throw new Error(`rail ${rail.name}: not a plain name`);
  const keys = new Set<string>();
  for (const { key, name, logo } of rail.companies) {
    if (!keyPattern.test(key)) throw new Error(`company ${rail.name}/${key}: not a plain key`);
    if (keys.has(key)) throw new Error(`company ${rail.name}/${key}: its key is used twice`);
    if (name === '') throw new Error(`company ${rail.name}/${key}: it has no name`);
    if (!isPng(logo)) throw new Error(`company ${rail.name}/${key}: its logo is not a PNG`);
    keys.add(key);
  }
}

/** Throws with the payer's name and every fault of its declaration. */
export function checkPayer(
  railName: string,
  payer: PayerDeclaration,
  companyIsKnown: boolean,
): void {
  const faults = listFaults(payer);
  if (!companyIsKnown) faults.push(`unknown company ${payer.companyKey}`);
  if (faults.length > 0) throw new Error(`payer ${railName}/${payer.key}: ${faults.join('; ')}`);
}

function listFaults(payer: PayerDeclaration): string[] {
  const faults: string[] = [];
  const expect = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault);
  };
  expect(keyPattern.test(payer.key), 'not a plain key');
  expect(payer.payerName !== '', 'it has no name');
  expect(isPng(payer.logo), 'its logo is not a PNG');
  expect(findCountry(payer.countryCode) !== undefined, `unknown country ${payer.countryCode}`);
  expect(deliveryTypes.includes(payer.deliveryType), 'unknown delivery type');
  const { numberOfLocations, rateLockSeconds } = payer;
  expect(
    isWhole(numberOfLocations, 0, Number.MAX_SAFE_INTEGER),
    'locations are not a whole number',
  );
  const holds =
    rateLockSeconds === null || isWhole(rateLockSeconds, rateLockSecondsMin, rateLockSecondsMax);
  expect(holds, `a rate lock of ${rateLockSeconds} s`);
  const { verification } = payer;
  const amount = verification.kind === 'above' ? readUsdMinor(verification.amount) : 0n;
  expect(amount !== undefined, 'the amount of its verification is none');
  return [
    ...faults,
    ...listCurrencyFaults(payer.currencies),
    ...listTariffFaults(payer.tariffs),
    ...listAvailabilityFaults(payer.availability),
  ];
}

function listCurrencyFaults(currencies: readonly string[]): string[] {
  const faults = currencies
    .filter((code) => findCurrency(code) === undefined)
    .map((code) => `unknown currency ${code}`);
  if (currencies.length === 0) faults.push('it delivers no currency');
  if (new Set(currencies).size < currencies.length) faults.push('a currency is named twice');
  return faults;
}

const instantPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

function listTariffFaults(tariffs: readonly Tariff[]): string[] {
  const faults: string[] = [];
  let fromMs = Number.NEGATIVE_INFINITY;
  for (const [index, tariff] of tariffs.entries()) {
    const { effectiveFrom, marginBasisPoints } = tariff;
    if (index === 0) {
      if (effectiveFrom !== null) faults.push('its first tariff has not held since ever');
    } else if (effectiveFrom === null || !instantPattern.test(effectiveFrom)) {
      faults.push(`a tariff from ${effectiveFrom}, which is no instant in UTC`);
    } else {
      if (!(Date.parse(effectiveFrom) > fromMs)) faults.push('its tariffs do not ascend');
      fromMs = Date.parse(effectiveFrom);
    }
    if (!isWhole(marginBasisPoints, 0, basisPointsMax)) {
      faults.push(`a margin of ${marginBasisPoints}`);
    }
    faults.push(
      ...listFeeFaults(tariff.fee),
      ...listLimitFaults(tariff),
      ...listRateFaults(tariff.rates),
    );
  }
  if (tariffs.length === 0) faults.push('it has no tariff');
  return faults;
}

function listRateFaults(rates: Tariff['rates']): string[] {
  return Object.entries(rates).flatMap(([pair, rate]) => {
    const [from = '', to = ''] = pair.split('/');
    if (findCurrency(from) === undefined || findCurrency(to) === undefined || from === to) {
      return [`a rate of ${pair}, which is no pair of currencies`];
    }
    return parseRate(rate) === undefined ? [`the rate of ${pair} is none`] : [];
  });
}

function listFeeFaults(fee: readonly FeeStep[]): string[] {
  const steps = readFeeSteps(fee);
  if (steps === undefined) return ['an amount of its fee is none'];
  const last = steps.at(-1);
  if (last === undefined) return ['it has no fee step'];
  const faults: string[] = [];
  if (last.upToUsdMinor !== null) faults.push('its last fee step is bounded');
  let over = 0n;
  for (const [index, { upToUsdMinor, basisPoints }] of steps.entries()) {
    if (!isWhole(basisPoints, 0, basisPointsMax)) faults.push(`a fee of ${basisPoints}/10000`);
    if (index === steps.length - 1) break;
    if (upToUsdMinor === null) faults.push('a fee step before the last one is unbounded');
    else if (upToUsdMinor <= over) faults.push('its fee steps do not ascend');
    over = upToUsdMinor ?? over;
  }
  return faults;
}

function listLimitFaults({ minLimit, maxLimit }: Tariff): string[] {
  const min = readUsdMinor(minLimit);
  const max = readUsdMinor(maxLimit);
  if (min === undefined || max === undefined) return ['a limit is not an amount of USD'];
  if (max === 0n) return [];
  if (max < maxLimitUsdMinorMin) return ['its maximum is less than 1 USD'];
  return min > max ? ['its minimum is over its maximum'] : [];
}

/** Many payers share a rule, and asking for a time zone is dear: each rule is checked once. */
const checkedRules = new WeakMap<AvailabilityRule, readonly string[]>();

function listAvailabilityFaults(rule: AvailabilityRule): readonly string[] {
  const known = checkedRules.get(rule);
  if (known !== undefined) return known;
  const faults = computeAvailabilityFaults(rule);
  checkedRules.set(rule, faults);
  return faults;
}

function computeAvailabilityFaults(rule: AvailabilityRule): string[] {
  const faults: string[] = [];
  const { timeZone, calendar, weekend, cutOff, delay } = rule;
  if (!isTimeZone(timeZone)) faults.push(`unknown time zone ${timeZone}`);
  if (calendar !== null && !countryCalendars.has(calendar)) {
    faults.push(`unknown calendar ${calendar}`);
  }
  const days = new Set(weekend);
  const isWeekend = weekend.every((day) => isWhole(day, 0, 6)) && days.size === weekend.length;
  if (!isWeekend || days.size > 6) faults.push('its weekend is none');
  if (cutOff !== null && !timePattern.test(cutOff)) faults.push(`a cut-off at ${cutOff}`);
  if ('minutes' in delay) {
    if (!isWhole(delay.minutes, 0, delayMinutesMax)) faults.push(`${delay.minutes} minutes`);
    return faults;
  }
  if (!isWhole(delay.businessDays, 0, delayBusinessDaysMax)) {
    faults.push(`${delay.businessDays} business days`);
  }
  if (!timePattern.test(delay.arrival)) faults.push(`an arrival at ${delay.arrival}`);
  // Money promised for the same day has to arrive after the last moment of sending it.
  if (delay.businessDays === 0 && (cutOff === null || cutOff >= delay.arrival)) {
    faults.push('it arrives on the same day, but not after a cut-off');
  }
  return faults;
}

const countryCalendars = new Set(listCountries().map((country) => country.alpha2));
const knownTimeZones = new Map<string, boolean>();

/** The list is cheap but has one name per zone; a formatter knows all names and takes memory. */
function isTimeZone(name: string): boolean {
  if (knownTimeZones.size === 0) {
    for (const zone of Intl.supportedValuesOf('timeZone')) knownTimeZones.set(zone, true);
  }
  const known = knownTimeZones.get(name);
  if (known !== undefined) return known;
  let holds = true;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    holds = false;
  }
  knownTimeZones.set(name, holds);
  return holds;
}

function isWhole(number: number, min: number, max: number): boolean {
  return Number.isInteger(number) && number >= min && number <= max;
}

/** The eight bytes every PNG begins with, as their Base64 text. */
function isPng(base64: string): boolean {
  return base64.startsWith('iVBORw0KGgo');
}
