/** What the tests of this module build on. Nothing else imports it. */
import { type Rate, rateOfOne } from '../../src/core/rate.ts';
import { type Catalog, compileCatalog, type Payer } from '../../src/destinations/catalog.ts';
import { bundledAsOfMs, bundledQuotes } from '../../src/fx/bundled-rates.ts';
import { createRateBook, type MidRates } from '../../src/fx/rate-book.ts';
import type { Rail } from '../../src/rails/contract/contract.ts';
import type {
  CompanyDeclaration,
  PayerDeclaration,
  Tariff,
} from '../../src/rails/contract/declarations.ts';
import { sandboxCompanies, sandboxPayers } from '../../src/rails/sandbox/network.ts';
import { openAlways, payerBase } from './payer.ts';

export const bundledRates: MidRates = createRateBook(bundledQuotes, {
  maxAgeMs: null,
  nowMs: () => bundledAsOfMs,
});

export function createRail(
  name: string,
  companies: readonly CompanyDeclaration[],
  payers: readonly PayerDeclaration[],
): Rail {
  return {
    name,
    kind: 'test',
    pace: { concurrencyMax: 1, perSecondMax: null },
    dailyLimits: {},
    reference: { lengthMax: 36, charset: /^[0-9a-f-]+$/ },
    companies,
    payers,
    send: async () => ({ outcome: 'unknown', reason: 'no_answer' }),
    query: async () => ({ outcome: 'unknown', reason: 'no_answer' }),
  };
}

export const sandboxRail = createRail('sandbox', sandboxCompanies, sandboxPayers);
export const sandboxCatalog: Catalog = compileCatalog([sandboxRail]);

export function getSandboxPayer(key: string): Payer {
  const payer = sandboxCatalog
    .payersIn(key.slice(0, 3).toUpperCase())
    .find((candidate) => candidate.key === key);
  if (payer === undefined) throw new Error(`no payer ${key}`);
  return payer;
}

/** A PNG of one pixel. */
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==';

export function createCompany(key: string): CompanyDeclaration {
  return { key, name: `Company ${key}`, description: 'Of a test.', logo: pixel };
}

/** A payer in Mexico with a fee of 1 USD, a margin of 1 % and no limits, but for what the test names. */
export function createPayer(
  key: string,
  changes: Partial<PayerDeclaration & Tariff> = {},
): PayerDeclaration {
  const { effectiveFrom, fee, marginBasisPoints, rates, minLimit, maxLimit, ...others } = changes;
  const tariff: Tariff = {
    effectiveFrom: effectiveFrom ?? null,
    fee: fee ?? [{ upTo: null, fixed: '1', basisPoints: 0 }],
    marginBasisPoints: marginBasisPoints ?? 100,
    rates: rates ?? {},
    minLimit: minLimit ?? '0',
    maxLimit: maxLimit ?? '0',
  };
  return {
    ...payerBase,
    key,
    companyKey: 'first',
    payerName: 'Bank',
    logo: pixel,
    countryCode: 'MEX',
    deliveryType: 'BANK_DEPOSIT',
    currencies: ['MXN'],
    tariffs: [tariff],
    availability: { ...openAlways(5), timeZone: 'America/Mexico_City' },
    numberOfLocations: 1,
    ...others,
  };
}

/** Rates of the pairs in the table and no others: `{ 'USD/MXN': rate }`. */
export function createRates(table: Readonly<Record<string, Rate>>): MidRates {
  return {
    find: (from, to) => {
      const rate = from === to ? rateOfOne : table[`${from}/${to}`];
      if (rate !== undefined) return { ok: true, rate, asOfMs: 0 };
      return { ok: false, reason: 'unknown', detail: `no rate from ${from} to ${to}` };
    },
  };
}
