import iso4217 from 'currency-codes';

/**
 * The scale (fraction digits) of every currency that Outlay knows. National currencies and their
 * minor units are those of ISO 4217; the cryptocurrencies have no ISO code and are listed here.
 */
export type Currency = {
  readonly code: string;
  readonly scale: number;
  readonly isCrypto: boolean;
};

/**
 * The coins of EVM chains have 18 decimals there; nine (a gwei) are kept so that every amount fits a
 * 64-bit integer. No payout needs a finer step.
 */
const cryptoScales: Readonly<Record<string, number>> = {
  BTC: 8,
  LTC: 8,
  ETH: 9,
  POL: 9,
  BNB: 9,
  SOL: 9,
  USDC: 6,
  USDT: 6,
  EURC: 6,
  PYUSD: 6,
};

/**
 * Codes of ISO 4217 that are no money one could pay out: metals, bond units, test codes, fund
 * codes and units of account.
 */
const notPayable = new Set(
  'XAU XAG XPT XPD XBA XBB XBC XBD XDR XSU XUA XTS XXX BOV CHE CHW CLF COU MXV USN UYI UYW'.split(
    ' ',
  ),
);

const currencies = new Map<string, Currency>();
for (const entry of iso4217.data) {
  if (!notPayable.has(entry.code)) {
    currencies.set(entry.code, { code: entry.code, scale: entry.digits, isCrypto: false });
  }
}
currencies.set('XCG', { code: 'XCG', scale: 2, isCrypto: false });
for (const [code, scale] of Object.entries(cryptoScales)) {
  currencies.set(code, { code, scale, isCrypto: true });
}

/**
 * Currencies that ISO 4217 has withdrawn, with those that replaced them (amendments 174 to 180 of its
 * maintenance agency: HRK 2023, SLL 2023, ZWL 2024, CUC and ANG 2025, BGN on January 1, 2026). The
 * last three stay known, so that balances, payouts and statements in them can be read.
 */
const successors: ReadonlyMap<string, string> = new Map([
  ['ANG', 'XCG'],
  ['BGN', 'EUR'],
  ['CUC', 'CUP'],
  ['HRK', 'EUR'],
  ['SLL', 'SLE'],
  ['ZWL', 'ZWG'],
]);

/**
 * Why nothing new can be made in the currency, as the end of a sentence that begins with the name of
 * the field; undefined where it is current.
 */
export function findCurrencyFault(code: string): string | undefined {
  const successor = successors.get(code);
  if (successor !== undefined) return `must be ${successor}, which replaced ${code}`;
  return currencies.has(code) ? undefined : 'must be a currency that the service knows';
}

/** Three to five capital letters or digits: the form of an ISO 4217 code or of a ticker. */
export const currencyPattern = /^[A-Z0-9]{3,5}$/;

export function findCurrency(code: string): Currency | undefined {
  return currencies.get(code);
}

export function getCurrency(code: string): Currency {
  const currency = currencies.get(code);
  if (currency === undefined) throw new Error(`unknown currency ${code}`);
  return currency;
}

export function listCurrencies(): Currency[] {
  return [...currencies.values()];
}

/** The fraction digits of all currencies by code, as JSON for the database. */
export const currencyScales = JSON.stringify(
  Object.fromEntries(listCurrencies().map(({ code, scale }) => [code, scale])),
);
