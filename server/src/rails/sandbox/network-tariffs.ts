import type { Tariff } from '../contract/declarations.ts';
import { formatFixed } from '../kit/amounts.ts';

/** Prices of the main corridors; the other corridors cost more by a factor. */
type Prices = {
  /** Up to this many USD (null: any), cents of USD, hundredths of a percent. */
  readonly steps: readonly (readonly [number | null, number, number])[];
  readonly marginBasisPoints: number;
  /** Whole USD; 0 is no bound. */
  readonly minLimit: number;
  readonly maxLimit: number;
};

export type CorridorClass = 'main' | 'common' | 'remote';

/** In percent of the main corridors' prices. */
const priceLevel: Readonly<Record<CorridorClass, number>> = { main: 100, common: 130, remote: 200 };

/**
 * Each delivery type has a company that is cheap for little money (low fixed fee, wide margin),
 * one for the usual amounts, and one for much (high fixed fee, thin margin), so that the cheapest
 * depends on the amount.
 */
export const tariffs = {
  bankSmall: { steps: [[null, 49, 60]], marginBasisPoints: 160, minLimit: 0, maxLimit: 10_000 },
  bankUsual: { steps: [[null, 199, 0]], marginBasisPoints: 90, minLimit: 1, maxLimit: 50_000 },
  bankLarge: { steps: [[null, 750, 0]], marginBasisPoints: 25, minLimit: 10, maxLimit: 0 },
  bankTiers: {
    steps: [
      [100, 125, 0],
      [1_000, 90, 50],
      [10_000, 350, 30],
      [null, 2_500, 10],
    ],
    marginBasisPoints: 75,
    minLimit: 1,
    maxLimit: 25_000,
  },
  bankSavings: {
    steps: [
      [500, 249, 0],
      [null, 499, 0],
    ],
    marginBasisPoints: 70,
    minLimit: 1,
    maxLimit: 50_000,
  },
  cashSmall: { steps: [[null, 99, 100]], marginBasisPoints: 150, minLimit: 1, maxLimit: 2_500 },
  cashUsual: {
    steps: [
      [500, 299, 0],
      [1_500, 499, 0],
      [null, 799, 0],
    ],
    marginBasisPoints: 110,
    minLimit: 2,
    maxLimit: 3_000,
  },
  cashLarge: { steps: [[null, 499, 0]], marginBasisPoints: 60, minLimit: 10, maxLimit: 5_000 },
  postUsual: { steps: [[null, 349, 0]], marginBasisPoints: 120, minLimit: 2, maxLimit: 3_000 },
  postLarge: { steps: [[null, 625, 0]], marginBasisPoints: 45, minLimit: 10, maxLimit: 4_000 },
  walletSmall: { steps: [[null, 29, 80]], marginBasisPoints: 140, minLimit: 0, maxLimit: 1_500 },
  walletUsual: { steps: [[null, 149, 0]], marginBasisPoints: 90, minLimit: 1, maxLimit: 2_500 },
  walletLarge: {
    steps: [
      [250, 199, 25],
      [null, 249, 10],
    ],
    marginBasisPoints: 40,
    minLimit: 5,
    maxLimit: 2_500,
  },
  homeUsual: { steps: [[null, 599, 50]], marginBasisPoints: 130, minLimit: 20, maxLimit: 2_000 },
  homeLarge: { steps: [[null, 995, 0]], marginBasisPoints: 100, minLimit: 20, maxLimit: 2_500 },
  checkUsual: { steps: [[null, 650, 0]], marginBasisPoints: 80, minLimit: 25, maxLimit: 20_000 },
  checkLarge: { steps: [[null, 450, 20]], marginBasisPoints: 80, minLimit: 25, maxLimit: 0 },
  billUsual: { steps: [[null, 150, 0]], marginBasisPoints: 120, minLimit: 1, maxLimit: 1_000 },
  billLarge: { steps: [[null, 395, 0]], marginBasisPoints: 50, minLimit: 1, maxLimit: 2_000 },
  cryptoSmall: { steps: [[null, 50, 0]], marginBasisPoints: 80, minLimit: 0, maxLimit: 25_000 },
  cryptoLarge: { steps: [[null, 300, 0]], marginBasisPoints: 25, minLimit: 0, maxLimit: 0 },
} as const satisfies Readonly<Record<string, Prices>>;

export type TariffName = keyof typeof tariffs;

const known = new Map<string, readonly Tariff[]>();

/** A tariff in a class of corridors, since ever; payers with the same one share the object. */
export function getTariffs(name: TariffName, corridorClass: CorridorClass): readonly Tariff[] {
  const key = `${name} ${corridorClass}`;
  const shared = known.get(key);
  if (shared !== undefined) return shared;
  const tariff: Prices = tariffs[name];
  const level = priceLevel[corridorClass];
  const declared: Tariff = {
    effectiveFrom: null,
    fee: tariff.steps.map(([upTo, cents, basisPoints]) => ({
      upTo: upTo === null ? null : String(upTo),
      fixed: formatFixed(BigInt(Math.floor((cents * level) / 100)), 2),
      basisPoints: Math.floor((basisPoints * level) / 100),
    })),
    marginBasisPoints: Math.floor((tariff.marginBasisPoints * level) / 100),
    rates: {},
    minLimit: String(tariff.minLimit),
    maxLimit: String(tariff.maxLimit),
  };
  const declarations = [declared];
  known.set(key, declarations);
  return declarations;
}
