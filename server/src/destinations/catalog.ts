import type { Country } from '../core/country.ts';
import { getCountry } from '../core/country.ts';
import { assert } from '../core/errors.ts';
import { nameId } from '../core/ids.ts';
import { getRate, type Rate } from '../core/rate.ts';
import type { Rail } from '../rails/contract/contract.ts';
import type {
  AccountForm,
  AvailabilityRule,
  CompanyDeclaration,
  DeliveryType,
  PayerDeclaration,
  Tariff,
} from '../rails/contract/declarations.ts';
import type { PayerRequirements } from '../rails/contract/requirements.ts';
import type { StoredPrice } from '../rails/host/prices.ts';
import { nameDestination, type RequirementsSnapshot } from '../rails/host/requirements.ts';
import { checkPayer, checkRail } from './declaration-checks.ts';
import { type Pricing, readFeeSteps, readUsdMinor } from './pricing.ts';
import { compileOffers, findNextExpiry, type ProviderOffer } from './provider-pricing.ts';

/** Never changed, because every destination token is derived from it. */
const tokenNamespace = 'c73492ac-8804-4dbd-9c56-9ca1d8731170';

export type Company = {
  readonly railName: string;
  readonly key: string;
  readonly name: string;
  readonly description: string;
  /** PNG, Base64. */
  readonly logo: string;
};

/** Recipients are verified for amounts above this, in cents of USD; null: never. */
export type VerificationThreshold = bigint | null;

export type Payer = {
  readonly destinationToken: string;
  readonly railName: string;
  /** The key of the declaration, used in instructions to the rail. */
  readonly key: string;
  readonly company: Company;
  readonly name: string;
  /** PNG, Base64. */
  readonly logo: string;
  readonly country: Country;
  readonly deliveryType: DeliveryType;
  /** What recipients give; undefined: what the delivery type usually asks for. */
  readonly accountForm: AccountForm | undefined;
  /** The currencies that it pays out; the first is the default. */
  readonly currencies: readonly string[];
  /** The network of each currency that it pays on a chain. */
  readonly networks: Readonly<Record<string, string>>;
  readonly pricing: Pricing;
  /** Of the declaration: when it works. */
  readonly availability: AvailabilityRule;
  /** When money arrives: by the provider's estimate, or as in `availability`. */
  readonly arrival: AvailabilityRule;
  /** Where its provider quotes prices: those, and how they may be used. */
  readonly offer: ProviderOffer | undefined;
  /** What its counterparty asks for recipients, by currency; none where it was not asked. */
  readonly requirements: Readonly<Record<string, PayerRequirements>>;
  readonly numberOfLocations: number;
  readonly additionalDescription: string;
  readonly isDynamicToken: boolean;
  /** 0n: always. */
  readonly verifiedAboveUsdMinor: VerificationThreshold;
  readonly rateLockSeconds: number | null;
};

export type ServedCountry = {
  readonly country: Country;
  /** Without repetition, in the order of the declarations. */
  readonly deliveryTypes: readonly DeliveryType[];
  readonly currencies: readonly string[];
};

export type Catalog = {
  readonly payerCount: number;
  /** When the next tariff takes effect or a price becomes too old, milliseconds; Infinity: never. */
  readonly untilMs: number;
  findPayer(destinationToken: string): Payer | undefined;
  /** The keys of a company's payers. */
  payerKeysOf(railName: string, companyKey: string): readonly string[];
  /** Empty if no rail serves the country. */
  payersIn(countryCode: string): readonly Payer[];
  /** Ordered by code. */
  servedCountries(): readonly ServedCountry[];
  /**
   * The other payers with the same country, delivery type, form of account, payer name, currency and
   * network: a dynamic destination may fail over to them. An address that is right on one chain may
   * have no owner on another, and a token of a card means nothing to another payer.
   */
  findEquivalents(payer: Payer, currency: string): readonly Payer[];
};

/**
 * Checks and indexes the payers of all rails with the tariffs and the providers' prices of an instant.
 *
 * @throws Error naming the payer if a declaration is invalid, which is a mistake of the operator.
 */
export function compileCatalog(
  rails: readonly Rail[],
  nowMs = 0,
  prices: readonly StoredPrice[] = [],
): Catalog {
  return indexPayers(addOffers(compilePayers(rails, nowMs), { rails, prices, nowMs }));
}

type CompiledPayers = { readonly payers: readonly Payer[]; readonly untilMs: number };

function compilePayers(rails: readonly Rail[], nowMs: number): CompiledPayers {
  let untilMs = Number.POSITIVE_INFINITY;
  const tokens = new Set<string>();
  const payers: Payer[] = [];
  const share = createSharing();
  for (const rail of rails) {
    const companies = compileCompanies(rail);
    for (const declaration of rail.payers) {
      const company = companies.get(declaration.companyKey);
      checkPayer(rail.name, declaration, company !== undefined);
      assert(company !== undefined, 'a checked payer has a company');
      const tariff = findTariff(declaration, nowMs);
      untilMs = Math.min(untilMs, tariff.untilMs);
      const payer = {
        ...compilePayer(declaration, company, share(tariff.tariff)),
        networks: compileNetworks(rail, declaration),
      };
      if (tokens.has(payer.destinationToken)) {
        throw new Error(`payer ${rail.name}/${declaration.key}: its key is already used`);
      }
      tokens.add(payer.destinationToken);
      payers.push(payer);
    }
  }
  return { payers, untilMs };
}

type OfferSources = {
  readonly rails: readonly Rail[];
  readonly prices: readonly StoredPrice[];
  readonly nowMs: number;
};

/** The payers with the present prices of their providers; the others stay the same objects. */
function addOffers(
  compiled: CompiledPayers,
  { rails, prices, nowMs }: OfferSources,
): CompiledPayers {
  const offers = compileOffers(rails, prices, nowMs);
  if (offers.size === 0) return compiled;
  let { untilMs } = compiled;
  const payers = compiled.payers.map((payer): Payer => {
    const offer = offers.get(payer.railName)?.get(payer.key);
    if (offer === undefined) return payer;
    untilMs = Math.min(untilMs, findNextExpiry(offer));
    const { deliverySeconds } = offer;
    const arrival = deliverySeconds === undefined ? payer.availability : arriveIn(deliverySeconds);
    return { ...payer, offer, arrival };
  });
  return { payers, untilMs };
}

const secondsOfMinute = 60;

/** By the provider's estimate, which takes its own days and hours into account. */
function arriveIn(seconds: number): AvailabilityRule {
  const minutes = Math.ceil(seconds / secondsOfMinute);
  return { timeZone: 'UTC', calendar: null, weekend: [], cutOff: null, delay: { minutes } };
}

/** The payers with what their counterparties ask for; the others stay the same objects. */
function addRequirements(
  { payers, untilMs }: CompiledPayers,
  snapshot: RequirementsSnapshot,
): CompiledPayers {
  if (snapshot.size === 0) return { payers, untilMs };
  const added = payers.map((payer): Payer => {
    const known = snapshot.get(payer.railName);
    if (known === undefined) return payer;
    const found = payer.currencies.flatMap((currency) => {
      const requirements = known.get(nameDestination(payer.key, currency));
      return requirements === undefined ? [] : [[currency, requirements] as const];
    });
    return found.length === 0 ? payer : { ...payer, requirements: Object.fromEntries(found) };
  });
  return { payers: added, untilMs };
}

function indexPayers({ payers, untilMs }: CompiledPayers): Catalog {
  const payersByToken = new Map<string, Payer>();
  const payersByCountry = new Map<string, Payer[]>();
  const keysByCompany = new Map<string, string[]>();
  for (const payer of payers) {
    payersByToken.set(payer.destinationToken, payer);
    const companyName = `${payer.railName}/${payer.company.key}`;
    const keys = keysByCompany.get(companyName);
    if (keys === undefined) keysByCompany.set(companyName, [payer.key]);
    else keys.push(payer.key);
    const neighbours = payersByCountry.get(payer.country.code);
    if (neighbours === undefined) payersByCountry.set(payer.country.code, [payer]);
    else neighbours.push(payer);
  }
  const served = [...payersByCountry.values()].map(describeCountry);
  served.sort((a, b) => (a.country.code < b.country.code ? -1 : 1));
  return {
    payerCount: payersByToken.size,
    untilMs,
    findPayer: (destinationToken) => payersByToken.get(destinationToken),
    payerKeysOf: (railName, companyKey) => keysByCompany.get(`${railName}/${companyKey}`) ?? [],
    payersIn: (countryCode) => payersByCountry.get(countryCode) ?? [],
    servedCountries: () => served,
    findEquivalents: (payer, currency) =>
      (payersByCountry.get(payer.country.code) ?? []).filter(
        (other) =>
          other !== payer &&
          other.deliveryType === payer.deliveryType &&
          other.accountForm === payer.accountForm &&
          other.name === payer.name &&
          other.currencies.includes(currency) &&
          other.networks[currency] === payer.networks[currency],
      ),
  };
}

function compileCompanies(rail: Rail): Map<string, Company> {
  checkRail(rail);
  const compile = ({ key, name, description, logo }: CompanyDeclaration): Company => ({
    railName: rail.name,
    key,
    name,
    description,
    logo,
  });
  return new Map(rail.companies.map((company) => [company.key, compile(company)]));
}

/** A UUID that depends only on the rail's name and the payer's key. */
export function getDestinationToken(railName: string, payerKey: string): string {
  return nameId(`${railName}/${payerKey}`, tokenNamespace);
}

/** The tariff in effect, and when the next one takes effect. */
function findTariff(
  { key, tariffs }: PayerDeclaration,
  nowMs: number,
): { tariff: Tariff; untilMs: number } {
  const next = tariffs.findIndex(
    ({ effectiveFrom }) => effectiveFrom !== null && Date.parse(effectiveFrom) > nowMs,
  );
  const tariff = next === -1 ? tariffs.at(-1) : tariffs[next - 1];
  assert(tariff !== undefined, `the tariffs of ${key} are checked`);
  const begins = next === -1 ? null : (tariffs[next]?.effectiveFrom ?? null);
  return { tariff, untilMs: begins === null ? Number.POSITIVE_INFINITY : Date.parse(begins) };
}

export type CatalogSources = {
  listPrices(): readonly StoredPrice[];
  listRequirements?(): RequirementsSnapshot;
};

const noPrices: readonly StoredPrice[] = [];
const noRequirements: RequirementsSnapshot = new Map();

/**
 * A catalog that is compiled again when the next tariff takes effect, and indexed again when a price
 * changes or becomes too old, and when a counterparty asks for other details. Each of the sources
 * answers another object after each change.
 */
export function createCurrentCatalog(
  rails: readonly Rail[],
  clock: { nowMs(): number },
  { listPrices, listRequirements = () => noRequirements }: CatalogSources = {
    listPrices: () => noPrices,
  },
): () => Catalog {
  const index = (compiled: CompiledPayers, nowMs: number) => {
    const prices = listPrices();
    const requirements = listRequirements();
    const priced = addOffers(compiled, { rails, prices, nowMs });
    const catalog = indexPayers(addRequirements(priced, requirements));
    return { prices, requirements, compiled, catalog };
  };
  let current = index(compilePayers(rails, clock.nowMs()), clock.nowMs());
  return () => {
    const nowMs = clock.nowMs();
    if (nowMs >= current.compiled.untilMs) current = index(compilePayers(rails, nowMs), nowMs);
    else if (
      nowMs >= current.catalog.untilMs ||
      listPrices() !== current.prices ||
      listRequirements() !== current.requirements
    ) {
      current = index(current.compiled, nowMs);
    }
    return current.catalog;
  };
}

type Share = (tariff: Tariff) => Pricing;

/** Payers with equal tariffs share a pricing, which saves memory with thousands of payers. */
function createSharing(): Share {
  const known = new Map<string | Tariff, Pricing>();
  return (tariff) => {
    const { fee, marginBasisPoints, rates, minLimit, maxLimit } = tariff;
    const same = known.get(tariff);
    if (same !== undefined) return same;
    const name = JSON.stringify([fee, marginBasisPoints, rates, minLimit, maxLimit]);
    const equal = known.get(name);
    if (equal !== undefined) {
      known.set(tariff, equal);
      return equal;
    }
    const steps = readFeeSteps(fee);
    const minLimitUsdMinor = readUsdMinor(minLimit);
    const maxLimitUsdMinor = readUsdMinor(maxLimit);
    assert(
      steps !== undefined && minLimitUsdMinor !== undefined && maxLimitUsdMinor !== undefined,
      'the tariff is checked',
    );
    const pricing = {
      steps,
      marginBasisPoints,
      rates: compileRates(rates),
      minLimitUsdMinor,
      maxLimitUsdMinor,
    };
    known.set(name, pricing).set(tariff, pricing);
    return pricing;
  };
}

function compileRates(rates: Tariff['rates']): ReadonlyMap<string, Rate> {
  return new Map(Object.entries(rates).map(([pair, text]) => [pair, getRate(text)]));
}

function compilePayer(
  declaration: PayerDeclaration,
  company: Company,
  pricing: Pricing,
): Omit<Payer, 'networks'> {
  return {
    destinationToken: getDestinationToken(company.railName, declaration.key),
    railName: company.railName,
    key: declaration.key,
    company,
    name: declaration.payerName,
    logo: declaration.logo,
    country: getCountry(declaration.countryCode),
    deliveryType: declaration.deliveryType,
    accountForm: declaration.accountForm,
    currencies: declaration.currencies,
    pricing,
    availability: declaration.availability,
    arrival: declaration.availability,
    offer: undefined,
    requirements: {},
    numberOfLocations: declaration.numberOfLocations,
    additionalDescription: declaration.additionalDescription,
    isDynamicToken: declaration.isDynamicToken,
    verifiedAboveUsdMinor: compileVerification(declaration.verification),
    rateLockSeconds: declaration.rateLockSeconds,
  };
}

/** Of rails on chains; a partner that takes a currency there decides on the network by itself. */
function compileNetworks(
  { networks = {} }: Pick<Rail, 'networks'>,
  { deliveryType, currencies }: PayerDeclaration,
): Payer['networks'] {
  if (deliveryType !== 'CRYPTOCURRENCY') return {};
  return Object.fromEntries(
    currencies.flatMap((code) => {
      const network = networks[code];
      return network === undefined ? [] : [[code, network]];
    }),
  );
}

function compileVerification(
  verification: PayerDeclaration['verification'],
): VerificationThreshold {
  if (verification.kind === 'never') return null;
  if (verification.kind === 'always') return 0n;
  const amount = readUsdMinor(verification.amount);
  assert(amount !== undefined, 'the amount is checked');
  return amount;
}

function describeCountry(payers: readonly Payer[]): ServedCountry {
  const [first] = payers;
  assert(first !== undefined, 'a served country has a payer');
  return {
    country: first.country,
    deliveryTypes: [...new Set(payers.map((payer) => payer.deliveryType))],
    currencies: [...new Set(payers.flatMap((payer) => payer.currencies))],
  };
}
