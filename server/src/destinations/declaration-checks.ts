import { findCountry } from '../core/country.ts';
import { findCurrency } from '../core/currency.ts';
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
  type AvailabilityRule,
  deliveryTypes,
  type FeeStep,
  type PayerDeclaration,
  type Tariff,
} from '../rails/contract/declarations.ts';
import { readFeeSteps, readUsdMinor } from './pricing.ts';

/** It is a part of the names of ledger accounts. */
const railPattern = /^[a-z0-9_]{1,40}$/;
const keyPattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Past a fifth of the amount a margin or a percentage is a slip of the pen. */
const basisPointsMax = 2_000;
/** A smaller bound could be nothing in a currency with a coarse minor unit, and 0 is no bound. */
const maxLimitUsdMinorMin = 100n;
const rateLockSecondsMin = 10;
const rateLockSecondsMax = 86_400;
const delayMinutesMax = 10_080;
const delayBusinessDaysMax = 30;

type DeclaredRail = Pick<Rail, 'name' | 'companies' | 'payers'>;

/** Throws when the rail's name or its companies cannot make stable destination tokens. */
export function checkRail(rail: DeclaredRail): void {
  const [fault] = listCompanyFaults(rail);
  if (fault !== undefined) throw new Error(fault);
}

/** Throws with the payer's name and every fault of its declaration. */
export function checkPayer(
  railName: string,
  payer: PayerDeclaration,
  companyIsKnown: boolean,
): void {
  const faults = listPayerFaults(payer, companyIsKnown);
  if (faults.length > 0) throw new Error(`payer ${railName}/${payer.key}: ${faults.join('; ')}`);
}

/** Every fault of what a rail declares: its name, its companies, and its payers. */
export function listDeclarationFaults(rail: DeclaredRail): string[] {
  const companies = new Set(rail.companies.map(({ key }) => key));
  const keys = new Set<string>();
  const faults = listCompanyFaults(rail);
  for (const payer of rail.payers) {
    const found = listPayerFaults(payer, companies.has(payer.companyKey));
    if (keys.has(payer.key)) found.push('its key is used twice');
    keys.add(payer.key);
    faults.push(...found.map((fault) => `payer ${rail.name}/${payer.key}: ${fault}`));
  }
  return faults;
}

function listCompanyFaults(rail: DeclaredRail): string[] {
  const faults: string[] = [];
  if (!railPattern.test(rail.name)) faults.push(`rail ${rail.name}: not a plain name`);
  const keys = new Set<string>();
  for (const { key, name, logo } of rail.companies) {
    const company = `company ${rail.name}/${key}`;
    if (!keyPattern.test(key)) faults.push(`${company}: not a plain key`);
    if (keys.has(key)) faults.push(`${company}: its key is used twice`);
    if (name === '') faults.push(`${company}: it has no name`);
    if (!isPng(logo)) faults.push(`${company}: its logo is not a PNG`);
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
  if (calendar !== null && !isCalendar(calendar)) {
    faults.push(`unknown calendar ${calendar}: it ${permitted.calendar}`);
  }
  if (!isWeekend(weekend)) faults.push(`its weekend ${permitted.weekend}`);
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

function isWhole(number: number, min: number, max: number): boolean {
  return Number.isInteger(number) && number >= min && number <= max;
}

/** The eight bytes every PNG begins with, as their Base64 text. */
function isPng(base64: string): boolean {
  return base64.startsWith('iVBORw0KGgo');
}
