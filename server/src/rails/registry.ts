import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Rail, RailCalls, RailHost, RailModule } from './contract.ts';
import type { CorridorDeclaration, PayerDeclaration } from './declarations.ts';
import { describeFaults, type RailConfig, RailConfigError } from './rail-config.ts';
import { chooseEncoding } from './references.ts';

/** The kinds of rails that there are: each folder beside this file with a `rail.ts` is one. */
export async function loadRailModules(): Promise<ReadonlyMap<string, RailModule>> {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();
  const modules = new Map<string, RailModule>();
  for (const folder of folders) {
    const file = join(import.meta.dirname, folder, 'rail.ts');
    if (!existsSync(file)) continue;
    const loaded = (await import(file)) as { railModule?: RailModule };
    // The simulated network has no module: it is not the operator's to configure.
    if (loaded.railModule === undefined) continue;
    if (loaded.railModule.kind !== folder) {
      throw new Error(`the rail in folder ${folder} calls itself ${loaded.railModule.kind}`);
    }
    modules.set(folder, loaded.railModule);
  }
  return modules;
}

/**
 * Opens the rails that the operator configured.
 *
 * @throws RailConfigError with what is wrong, before any of them is used.
 */
export async function openRails(
  configs: readonly RailConfig[],
  createHost: (name: string, payers: readonly PayerDeclaration[]) => RailHost,
): Promise<Rail[]> {
  if (configs.length === 0) return [];
  const modules = await loadRailModules();
  const opened: Rail[] = [];
  try {
    for (const config of configs) opened.push(await openRail(config, modules, createHost));
  } catch (error) {
    await Promise.allSettled(opened.map(async (rail) => rail.close?.()));
    throw error;
  }
  return opened;
}

async function openRail(
  config: RailConfig,
  modules: ReadonlyMap<string, RailModule>,
  createHost: (name: string, payers: readonly PayerDeclaration[]) => RailHost,
): Promise<Rail> {
  const { kind, name, companies, payers, dailyLimits } = config;
  const module = modules.get(kind);
  if (module === undefined) {
    const known = [...modules.keys()].join(', ');
    throw new RailConfigError(`rail ${name}: no kind ${kind}; there are ${known}`);
  }
  chooseEncoding(name, module.reference);
  for (const payer of payers) checkCorridor(payer, module);
  const parsed = module.configSchema.safeParse(config.config);
  if (!parsed.success) {
    throw new RailConfigError(`rail ${name}: config: ${describeFaults(parsed.error)}`);
  }
  const calls = await createCalls(module, parsed.data, createHost(name, payers));
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
    ...(calls.check && { check: calls.check.bind(calls) }),
    ...(calls.close && { close: calls.close.bind(calls) }),
  };
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
