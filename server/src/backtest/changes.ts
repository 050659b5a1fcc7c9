import { z } from 'zod';
import { DocumentFaults, parseDocument } from '../core/json-document.ts';
import { type Catalog, compileCatalog } from '../destinations/catalog.ts';
import { listDeclarationFaults } from '../destinations/declaration-checks.ts';
import { type ScoreWeights, scoreWeights } from '../dispatch/routing.ts';
import type { Rail } from '../rails/contract/contract.ts';
import {
  deliveryTypes,
  type PayerDeclaration,
  type Tariff,
} from '../rails/contract/declarations.ts';
import { availability, dailyLimits, feeStep } from '../rails/host/rail-config.ts';

/**
 * The changes that a back-test tries: one JSON document, whose members have the names of the rails file.
 * Entries apply in their order, those of rails first.
 */

const name = z.string().min(1).max(100);
const usdText = z.string().max(30);

const railChange = z.strictObject({
  rail: name,
  offered: z.boolean().optional(),
  /** Replace those of the rail. */
  dailyLimits: dailyLimits.optional(),
});

const payerChange = z.strictObject({
  rail: name,
  /** Without: every payer of the rail that fits the other members. */
  payer: name.optional(),
  countryCode: z.string().length(3).optional(),
  deliveryType: z.enum(deliveryTypes).optional(),
  offered: z.boolean().optional(),
  fee: z.array(feeStep).max(50).optional(),
  marginBasisPoints: z.int().optional(),
  rates: z.record(z.string().max(20), z.string().max(60)).optional(),
  minLimit: usdText.optional(),
  maxLimit: usdText.optional(),
  availability: availability.optional(),
});
type PayerChange = z.output<typeof payerChange>;

const weight = z.int().min(0).max(100).default(1);

const routing = z.strictObject({
  /** Which payer gets a payout: the one that the client named, or the best of the same service. */
  choose: z.enum(['named', 'cheapest', 'best_score']).default('named'),
  /** Which payers may take over where the named one does not take the payout. */
  substitute: z.enum(['none', 'equivalent', 'service']).default('equivalent'),
  weights: z
    .strictObject({ unavailability: weight, price: weight })
    .default({ unavailability: 1, price: 1 }),
});

const document = z.strictObject({
  rails: z.array(railChange).max(200).default([]),
  payers: z.array(payerChange).max(1000).default([]),
  routing: routing.default(() => ({ ...routingAsItIs })),
});
export type Changes = z.output<typeof document>;

export type RoutingPolicy = {
  readonly choose: 'named' | 'cheapest' | 'best_score';
  readonly substitute: 'none' | 'equivalent' | 'service';
  readonly weights: ScoreWeights;
};

/** What the service does: the client's payer, and those that a failover would choose from. */
const routingAsItIs = {
  choose: 'named',
  substitute: 'equivalent',
  weights: scoreWeights,
} as const satisfies RoutingPolicy;

/** What decides about payouts on one side of the comparison. */
export type Plan = {
  readonly catalog: Catalog;
  /** Of a UTC day, in minor units of the currency; undefined: none. */
  dailyLimitOf(railName: string, currency: string): bigint | undefined;
  readonly routing: RoutingPolicy;
};

/** @throws DocumentFaults; whether rails and payers exist is checked when the changes are applied. */
export function readChanges(text: string): Changes {
  return parseDocument(text, document, 'the changes');
}

/** The present rails, with the tariffs in force at `nowMs`. */
export function planAsItIs(rails: readonly Rail[], nowMs: number): Plan {
  return compilePlan(rails, nowMs, routingAsItIs);
}

/** The present rails with the changes. @throws DocumentFaults. */
export function planChanged(rails: readonly Rail[], changes: Changes, nowMs: number): Plan {
  const faults: string[] = [];
  const changed = new Map<string, ChangedRail>(
    rails.map((rail) => [
      rail.name,
      { rail, payers: rail.payers.map((payer) => ({ payer, isOffered: true })) },
    ]),
  );
  const find = (railName: string, place: string): ChangedRail | undefined => {
    const found = changed.get(railName);
    if (found === undefined) {
      faults.push(
        `${place}.rail: unknown rail ${railName}; known: ${[...changed.keys()].join(', ')}`,
      );
    }
    return found;
  };
  for (const [index, change] of changes.rails.entries()) {
    const found = find(change.rail, `rails.${index}`);
    if (found === undefined) continue;
    const { offered, dailyLimits: limits } = change;
    if (limits !== undefined) found.rail = { ...found.rail, dailyLimits: limits };
    if (offered !== undefined) for (const one of found.payers) one.isOffered = offered;
  }
  for (const [index, change] of changes.payers.entries()) {
    const place = `payers.${index}`;
    const found = find(change.rail, place);
    if (found !== undefined) faults.push(...changePayers(found, { change, place, nowMs }));
  }
  if (faults.length > 0) throw new DocumentFaults(faults);
  const offered = [...changed.values()].map(({ rail, payers }) => ({
    ...rail,
    payers: payers.filter(({ isOffered }) => isOffered).map(({ payer }) => payer),
  }));
  return compilePlan(offered, nowMs, changes.routing);
}

function compilePlan(rails: readonly Rail[], nowMs: number, policy: RoutingPolicy): Plan {
  const limits = new Map(rails.map((rail) => [rail.name, rail.dailyLimits]));
  return {
    catalog: compileCatalog(rails, nowMs),
    dailyLimitOf: (railName, currency) => limits.get(railName)?.[currency],
    routing: policy,
  };
}

type ChangedRail = { rail: Rail; payers: { payer: PayerDeclaration; isOffered: boolean }[] };
type Applied = { change: PayerChange; place: string; nowMs: number };

/** Changes the payers that the entry selects; returns its faults, those of one payer at most. */
function changePayers(found: ChangedRail, { change, place, nowMs }: Applied): string[] {
  const { payer: key, countryCode, deliveryType, offered } = change;
  const selected = found.payers.filter(
    ({ payer }) =>
      (key === undefined || payer.key === key) &&
      (countryCode === undefined || payer.countryCode === countryCode) &&
      (deliveryType === undefined || payer.deliveryType === deliveryType),
  );
  if (selected.length === 0) return [`${place}: no payer of the rail ${change.rail} matches`];
  const changeTariff = createTariffChange(change);
  for (const one of selected) {
    if (offered !== undefined) one.isOffered = offered;
    const tariff = findTariff(one.payer.tariffs, nowMs);
    one.payer = {
      ...one.payer,
      ...(tariff !== undefined && { tariffs: [changeTariff(tariff)] }),
      ...(change.availability !== undefined && { availability: change.availability }),
    };
    const faults = listDeclarationFaults({ ...found.rail, payers: [one.payer] });
    if (faults.length > 0) return faults.map((fault) => `${place}: ${fault}`);
  }
  return [];
}

function findTariff(tariffs: readonly Tariff[], nowMs: number): Tariff | undefined {
  return tariffs.findLast(
    ({ effectiveFrom }) => effectiveFrom === null || Date.parse(effectiveFrom) <= nowMs,
  );
}

/** Payers that shared a tariff share the changed one, which is checked and compiled once. */
function createTariffChange(change: PayerChange): (tariff: Tariff) => Tariff {
  const changed = new Map<Tariff, Tariff>();
  const { fee, marginBasisPoints, rates, minLimit, maxLimit } = change;
  return (tariff) => {
    const known = changed.get(tariff);
    if (known !== undefined) return known;
    const made: Tariff = {
      effectiveFrom: null,
      fee: fee ?? tariff.fee,
      marginBasisPoints: marginBasisPoints ?? tariff.marginBasisPoints,
      rates: rates ?? tariff.rates,
      minLimit: minLimit ?? tariff.minLimit,
      maxLimit: maxLimit ?? tariff.maxLimit,
    };
    changed.set(tariff, made);
    return made;
  };
}
