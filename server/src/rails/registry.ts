import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../core/errors.ts';
import type { CollectedAttributes, Rail, RailCalls, RailHost, RailModule } from './contract.ts';
import type { CorridorDeclaration, PayerDeclaration } from './declarations.ts';
import { describeFaults, type RailConfig, RailConfigError } from './rail-config.ts';
import { chooseEncoding } from './references.ts';

/** The simulated network: no module, because it is not the operator's to configure. */
const simulated = 'sandbox';

/** The kinds of rails that there are: each folder beside this file with a `rail.ts` is one. */
export function listRailKinds(): string[] {
  return readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== simulated)
    .map(({ name }) => name)
    .filter((folder) => existsSync(join(import.meta.dirname, folder, 'rail.ts')))
    .toSorted();
}

/** Only what is asked for: some kinds bring large libraries. */
export async function loadRailModules(
  kinds: Iterable<string> = listRailKinds(),
): Promise<ReadonlyMap<string, RailModule>> {
  const modules = new Map<string, RailModule>();
  for (const kind of kinds) {
    const file = join(import.meta.dirname, kind, 'rail.ts');
    const { railModule } = (await import(file)) as { railModule: RailModule };
    if (railModule.kind !== kind) {
      throw new Error(`the rail in folder ${kind} calls itself ${railModule.kind}`);
    }
    modules.set(kind, railModule);
  }
  return modules;
}

export type RailServices = {
  createHost(name: string, payers: readonly PayerDeclaration[]): RailHost;
  /** What clients are asked for a payer's destination. */
  collectAttributes(payer: PayerDeclaration, currency: string): CollectedAttributes;
};

/**
 * Opens the rails that the operator configured.
 *
 * @throws RailConfigError with what is wrong, before any of them is used.
 */
export async function openRails(
  configs: readonly RailConfig[],
  services: RailServices,
): Promise<Rail[]> {
  if (configs.length === 0) return [];
  const known = listRailKinds();
  const strange = configs.find(({ kind }) => !known.includes(kind));
  if (strange !== undefined) {
    throw new RailConfigError(
      `rail ${strange.name}: no kind ${strange.kind}; there are ${known.join(', ')}`,
    );
  }
  const modules = await loadRailModules(new Set(configs.map(({ kind }) => kind)));
  const opened: Rail[] = [];
  try {
    for (const config of configs) opened.push(await openRail(config, modules, services));
  } catch (error) {
    await Promise.allSettled(opened.map(async (rail) => rail.close?.()));
    throw error;
  }
  return opened;
}

async function openRail(
  config: RailConfig,
  modules: ReadonlyMap<string, RailModule>,
  services: RailServices,
): Promise<Rail> {
  const { kind, name, companies, payers, dailyLimits } = config;
  const module = modules.get(kind);
  assert(module !== undefined, 'every kind was loaded');
  chooseEncoding(name, module.reference);
  for (const payer of payers) checkCorridor(payer, module);
  checkPayers(config, module, services);
  const parsed = module.configSchema.safeParse(config.config);
  if (!parsed.success) {
    throw new RailConfigError(`rail ${name}: config: ${describeFaults(parsed.error)}`);
  }
  const calls = await createCalls(module, parsed.data, services.createHost(name, payers));
  const concurrencyMax = config.pace.concurrencyMax ?? module.pace.concurrencyMax;
  const { perSecondMax = module.pace.perSecondMax } = config.pace;
  const { failuresMax } = module.pace;
  return {
    ...bindCalls(calls),
    name,
    kind,
    reference: module.reference,
    pace: { concurrencyMax, perSecondMax, ...(failuresMax !== undefined && { failuresMax }) },
    dailyLimits,
    companies,
    payers,
  };
}

async function createCalls(module: RailModule, config: unknown, host: RailHost) {
  try {
    return await module.create(config, host);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : 'it cannot be opened';
    throw new RailConfigError(`rail ${host.name}: ${message}`, { cause });
  }
}

/** A rail may be an object of a class: its calls stay bound to it. */
function bindCalls(calls: RailCalls): RailCalls {
  return {
    send: calls.send.bind(calls),
    query: calls.query.bind(calls),
    ...(calls.cancel && { cancel: calls.cancel.bind(calls) }),
    ...(calls.readCallback && { readCallback: calls.readCallback.bind(calls) }),
    ...(calls.work && { work: calls.work.bind(calls) }),
    ...(calls.workIdleMs !== undefined && { workIdleMs: calls.workIdleMs }),
    ...(calls.checkRecipient && { checkRecipient: calls.checkRecipient.bind(calls) }),
    ...(calls.recover && { recover: calls.recover.bind(calls) }),
    ...(calls.check && { check: calls.check.bind(calls) }),
    ...(calls.close && { close: calls.close.bind(calls) }),
  };
}

/** A payer that could only refuse would take quotes and commits, and cancel each of them. */
function checkPayers(
  { name, payers }: RailConfig,
  module: RailModule,
  { collectAttributes }: RailServices,
): void {
  const faults = payers.flatMap((payer) =>
    payer.currencies.flatMap((currency) => {
      const found = module.checkPayer?.(payer, collectAttributes(payer, currency)) ?? [];
      return found.map(
        (fault) => `payer ${payer.key} (${payer.countryCode}, ${currency}): ${fault}`,
      );
    }),
  );
  if (faults.length > 0) throw new RailConfigError(`rail ${name}: ${faults.join('; ')}`);
}

function checkCorridor(payer: PayerDeclaration, module: RailModule): void {
  const isServed = payer.currencies.every((currency) =>
    module.corridors.some((corridor) => covers(corridor, payer, currency)),
  );
  if (!isServed) {
    const what = `${payer.deliveryType} of ${payer.currencies.join(', ')} in ${payer.countryCode}`;
    throw new RailConfigError(
      `payer ${payer.key}: rails of the kind ${module.kind} have no ${what}`,
    );
  }
}

function covers(corridor: CorridorDeclaration, payer: PayerDeclaration, currency: string): boolean {
  return (
    corridor.deliveryType === payer.deliveryType &&
    (corridor.countries === 'any' || corridor.countries.includes(payer.countryCode)) &&
    (corridor.currencies === 'any' || corridor.currencies.includes(currency))
  );
}
