import type { ExclusiveResource } from '../contract/contract.ts';
import { listFaults, type RailConfig, type RailFault } from './rail-config.ts';
import { listRailKinds, loadRailModules } from './registry.ts';

/** What the rails of this installation use and no other one may; opens no rail. */

export type RailExclusive = { readonly rail: string; readonly resource: ExclusiveResource };

export async function listRailExclusives(
  configs: readonly RailConfig[],
): Promise<{ exclusives: readonly RailExclusive[]; faults: readonly RailFault[] }> {
  const known = new Set(listRailKinds());
  const wanted = configs.map(({ kind }) => kind).filter((kind) => known.has(kind));
  const modules = await loadRailModules(new Set(wanted));
  const exclusives: RailExclusive[] = [];
  const faults: RailFault[] = [];
  for (const { name: rail, kind, config } of configs) {
    const module = modules.get(kind);
    const parsed = module?.configSchema.safeParse(config);
    const add = (text: string) => faults.push({ rail, text: `rail ${rail}: ${text}` });
    if (module === undefined || parsed === undefined) add(`kind ${kind} is unknown`);
    else if (!parsed.success) for (const text of listFaults(parsed.error)) add(`config: ${text}`);
    else {
      try {
        const found = await module.listExclusives(parsed.data);
        exclusives.push(...found.map((resource) => ({ rail, resource })));
      } catch (error) {
        add(error instanceof Error ? error.message : 'it cannot be described');
      }
    }
  }
  return { exclusives, faults };
}
