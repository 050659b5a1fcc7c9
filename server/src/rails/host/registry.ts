import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../../core/errors.ts';
import type {
  CollectedAttributes,
  Rail,
  RailCalls,
  RailHost,
  RailModule,
} from '../contract/contract.ts';
import type { CorridorDeclaration, PayerDeclaration } from '../contract/declarations.ts';
import { defaultPriceRules, type PriceRules } from '../contract/price-rules.ts';
import { chooseEncoding } from '../contract/references.ts';
import { listFaults, type RailConfig, type RailFault } from './rail-config.ts';

/** Folders with a `rail.ts` that operators cannot configure: the simulated network and the template. */
const notConfigurable: ReadonlySet<string> = new Set(['sandbox', 'template']);

const railsFolder = join(import.meta.dirname, '..');

/** The kinds that operators can configure: each folder under `rails/` with a `rail.ts`. */
export function listRailKinds(): string[] {
  return readdirSync(railsFolder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !notConfigurable.has(entry.name))
    .map(({ name }) => name)
    .filter((folder) => existsSync(join(railsFolder, folder, 'rail.ts')))
    .toSorted();
}

/** Loads only these kinds, because some bring large libraries. */
export async function loadRailModules(
  kinds: Iterable<string> = listRailKinds(),
): Promise<ReadonlyMap<string, RailModule>> {
  const modules = new Map<string, RailModule>();
  for (const kind of kinds) {
    const file = join(railsFolder, kind, 'rail.ts');
    const { railModule } = (await import(file)) as { railModule: RailModule };
    if (railModule.kind !== kind) {
      throw new Error(`the rail in folder ${kind} must have that kind, and has ${railModule.kind}`);
    }
    modules.set(kind, railModule);
  }
  return modules;
}

export type RailServices = {
  createHost(name: string, payers: readonly PayerDeclaration[]): RailHost;
  /** The attributes of a payer's destination; without them payers are not checked. */
  collectAttributes?:
    | ((payer: PayerDeclaration, currency: string) => CollectedAttributes)
    | undefined;
  /** Further faults of a rail's declarations. */
  listFaults?: (config: RailConfig) => readonly string[];
};

/** Opens the rails without a fault, and lists every fault of the others. */
export async function openRails(
  configs: readonly RailConfig[],
  services: RailServices,
): Promise<{ rails: readonly Rail[]; faults: readonly RailFault[] }> {
  const known = configs.length === 0 ? [] : listRailKinds();
  const wanted = configs.map(({ kind }) => kind).filter((kind) => known.includes(kind));
  const modules = await loadRailModules(new Set(wanted));
  const rails: Rail[] = [];
  const faults: RailFault[] = [];
  for (const config of configs) {
    const { name } = config;
    const texts = [
      ...listOpeningFaults(config, modules),
      ...listPayerFaults(config, modules, services),
      ...(services.listFaults?.(config) ?? []),
    ];
    if (texts.length === 0) {
      const opened = await openRail(config, modules, services);
      if ('fault' in opened) texts.push(opened.fault);
      else rails.push(opened.rail);
    }
    faults.push(...texts.map((text) => ({ rail: name, text })));
  }
  return { rails, faults };
}

function listOpeningFaults(
  { kind, name, payers, config }: RailConfig,
  modules: ReadonlyMap<string, RailModule>,
): string[] {
  const module = modules.get(kind);
  if (module === undefined) {
    return [`rail ${name}: kind must be one of ${listRailKinds().join(', ')}, not ${kind}`];
  }
  const faults = payers.flatMap((payer) => listCorridorFaults(payer, module));
  const parsed = module.configSchema.safeParse(config);
  if (!parsed.success) faults.push(...listFaults(parsed.error).map((fault) => `config: ${fault}`));
  return faults.map((fault) => `rail ${name}: ${fault}`);
}

async function openRail(
  config: RailConfig,
  modules: ReadonlyMap<string, RailModule>,
  { createHost }: RailServices,
): Promise<{ rail: Rail } | { fault: string }> {
  const { kind, name, companies, payers, dailyLimits } = config;
  const module = modules.get(kind);
  assert(module !== undefined, 'every kind was loaded');
  chooseEncoding(name, module.reference);
  const host = createHost(name, payers);
  let calls: RailCalls;
  try {
    calls = await module.create(module.configSchema.parse(config.config), host);
  } catch (error) {
    const message = error instanceof Error ? error.message : 'it cannot be opened';
    return { fault: `rail ${name}: ${message}` };
  }
  if (config.prices !== undefined && calls.readPrices === undefined) {
    await calls.close?.();
    return { fault: `rail ${name}: prices must be absent, because this rail quotes none` };
  }
  const concurrencyMax = config.pace.concurrencyMax ?? module.pace.concurrencyMax;
  const { perSecondMax = module.pace.perSecondMax } = config.pace;
  const { failuresMax } = module.pace;
  const rail = {
    ...bindCalls(calls),
    name,
    kind,
    reference: module.reference,
    pace: { concurrencyMax, perSecondMax, ...(failuresMax !== undefined && { failuresMax }) },
    dailyLimits,
    companies,
    payers,
    ...describeRequirements(host),
    ...(calls.readPrices && { priceRules: readPriceRules(config) }),
  };
  return { rail };
}

function describeRequirements({
  requirements: memory,
}: RailHost): Pick<Rail, 'findRequirements' | 'findRequirementsTime'> {
  if (memory === undefined) return {};
  return {
    findRequirements: memory.findAll,
    findRequirementsTime: (payerKey, currency) =>
      memory.find({ payerKey, currency, given: {} })?.readAtMs,
  };
}

function readPriceRules({ prices }: RailConfig): PriceRules {
  if (prices === undefined) return defaultPriceRules;
  return {
    readEveryMs: prices.everySeconds * 1000,
    ageMsMax: prices.maxAgeSeconds * 1000,
    bearBasisPoints: prices.bearBasisPoints,
  };
}

/** A rail may be an object of a class, so its calls are bound to it. */
function bindCalls(calls: RailCalls): RailCalls {
  return {
    send: calls.send.bind(calls),
    query: calls.query.bind(calls),
    ...(calls.cancel && { cancel: calls.cancel.bind(calls) }),
    ...(calls.readCallback && { readCallback: calls.readCallback.bind(calls) }),
    ...(calls.networks && { networks: calls.networks }),
    ...(calls.work && { work: calls.work.bind(calls) }),
    ...(calls.workIdleMs !== undefined && { workIdleMs: calls.workIdleMs }),
    ...(calls.usesScreening !== undefined && { usesScreening: calls.usesScreening }),
    ...(calls.checkRecipient && { checkRecipient: calls.checkRecipient.bind(calls) }),
    ...(calls.checkPayee && { checkPayee: calls.checkPayee.bind(calls) }),
    ...(calls.check && { check: calls.check.bind(calls) }),
    ...(calls.readFunds && { readFunds: calls.readFunds.bind(calls) }),
    ...(calls.readPrices && { readPrices: calls.readPrices.bind(calls) }),
    ...(calls.findNextCutOff && { findNextCutOff: calls.findNextCutOff.bind(calls) }),
    ...(calls.recover && { recover: calls.recover.bind(calls) }),
    ...(calls.findUnknownPayments && {
      findUnknownPayments: calls.findUnknownPayments.bind(calls),
    }),
    ...(calls.confirmRecovery && { confirmRecovery: calls.confirmRecovery.bind(calls) }),
    ...(calls.close && { close: calls.close.bind(calls) }),
  };
}

/** A payer that can never be paid would take quotes and commits, and cancel each of them. */
function listPayerFaults(
  { kind, name, payers }: RailConfig,
  modules: ReadonlyMap<string, RailModule>,
  { collectAttributes }: RailServices,
): string[] {
  const module = modules.get(kind);
  if (module?.checkPayer === undefined || collectAttributes === undefined) return [];
  return payers.flatMap((payer) =>
    payer.currencies.flatMap((currency) => {
      const found = module.checkPayer?.(payer, collectAttributes(payer, currency)) ?? [];
      const who = `rail ${name}: payer ${payer.key} (${payer.countryCode}, ${currency})`;
      return found.map((fault) => `${who}: ${fault}`);
    }),
  );
}

function listCorridorFaults(payer: PayerDeclaration, module: RailModule): string[] {
  const isServed = payer.currencies.every((currency) =>
    module.corridors.some((corridor) => covers(corridor, payer, currency)),
  );
  if (isServed) return [];
  const form = payer.accountForm === undefined ? '' : ` by ${payer.accountForm}`;
  const what = `${payer.deliveryType}${form} of ${payer.currencies.join(', ')} in ${payer.countryCode}`;
  return [`payer ${payer.key}: the kind ${module.kind} does not serve ${what}`];
}

function covers(corridor: CorridorDeclaration, payer: PayerDeclaration, currency: string): boolean {
  return (
    corridor.deliveryType === payer.deliveryType &&
    corridor.accountForm === payer.accountForm &&
    (corridor.countries === 'any' || corridor.countries.includes(payer.countryCode)) &&
    (corridor.currencies === 'any' || corridor.currencies.includes(currency))
  );
}
