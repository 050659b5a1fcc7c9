import { listCountries } from '../server/src/core/country.ts';
import type { RailModule } from '../server/src/rails/contract/contract.ts';
import {
  type CorridorDeclaration,
  type DeliveryType,
  deliveryTypes,
} from '../server/src/rails/contract/declarations.ts';
import { loadRailModules } from '../server/src/rails/host/registry.ts';
import { sandboxPayers } from '../server/src/rails/sandbox/network.ts';

/** docs/rails.md: which kind of rail can pay where, from the declarations. */
export async function generateRailsDocument(): Promise<Map<string, string>> {
  const modules = [...(await loadRailModules()).values()];
  const text = [
    '# Rails',
    '',
    'Generated from the declarations of the rails by `npm run generate`. To configure a rail, read',
    '[guides/rails.md](guides/rails.md) and the README of its folder.',
    '',
    '## Kinds',
    '',
    '| kind | description | length of references | concurrent calls |',
    '|---|---|---|---|',
    '| `sandbox` | The simulated network of staging; it moves no money. | 64 | 1000 |',
    ...modules.map(describeModule),
    '',
    '## Any country',
    '',
    'These kinds are not bound to countries: the payers that you configure name them.',
    '',
    '| delivery type | currencies | rails |',
    '|---|---|---|',
    ...describeWorldwide(modules),
    '',
    '## By country',
    '',
    'In addition to those above. `sandbox` serves staging only.',
    '',
    '| country | delivery type | currency | rails |',
    '|---|---|---|---|',
    ...listCountries().flatMap(({ code, name }) => describeCountry({ code, name }, modules)),
    '',
  ].join('\n');
  return new Map([['docs/rails.md', text]]);
}

function describeModule({ kind, about, reference, pace }: RailModule): string {
  const folder = `../server/src/rails/${kind}/README.md`;
  return `| [\`${kind}\`](${folder}) | ${about} | ${reference.lengthMax} | ${pace.concurrencyMax} |`;
}

function describeWorldwide(modules: readonly RailModule[]): string[] {
  const rows = new Map<string, string[]>();
  for (const { kind, corridors } of modules) {
    for (const { countries, deliveryType, currencies, accountForm } of corridors) {
      if (countries !== 'any') continue;
      const named = currencies === 'any' ? 'every national currency' : currencies.join(', ');
      const form = accountForm === undefined ? '' : ` by \`${accountForm}\``;
      const row = `${deliveryType}${form} | ${named}`;
      rows.set(row, [...(rows.get(row) ?? []), kind]);
    }
  }
  return [...rows]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([row, kinds]) => `| ${row} | ${kinds.join(', ')} |`);
}

/** A row for each delivery type and currency of the country. */
function describeCountry(
  country: { code: string; name: string },
  modules: readonly RailModule[],
): string[] {
  return deliveryTypes.flatMap((deliveryType) => {
    const railsByCurrency = new Map<string, Set<string>>();
    const add = (currency: string, rail: string): void => {
      const rails = railsByCurrency.get(currency) ?? new Set();
      railsByCurrency.set(currency, rails.add(rail));
    };
    for (const currency of listSandboxCurrencies(country.code, deliveryType)) {
      add(currency, 'sandbox');
    }
    for (const { kind, corridors } of modules) {
      for (const corridor of corridors) {
        if (!isInCountry(corridor, country.code, deliveryType)) continue;
        const { currencies } = corridor;
        for (const currency of currencies === 'any' ? ['every'] : currencies) add(currency, kind);
      }
    }
    const byRails = new Map<string, string[]>();
    for (const [currency, rails] of railsByCurrency) {
      const name = [...rails].join(', ');
      byRails.set(name, [...(byRails.get(name) ?? []), currency]);
    }
    return [...byRails].map(
      ([rails, currencies]) =>
        `| ${country.code} ${country.name} | ${deliveryType} | ${currencies.join(', ')} | ${rails} |`,
    );
  });
}

function isInCountry(
  { countries, deliveryType }: CorridorDeclaration,
  code: string,
  wanted: DeliveryType,
): boolean {
  return countries !== 'any' && deliveryType === wanted && countries.includes(code);
}

const sandboxCurrencies = new Map<string, Set<string>>();

function listSandboxCurrencies(code: string, deliveryType: DeliveryType): ReadonlySet<string> {
  if (sandboxCurrencies.size === 0) {
    for (const payer of sandboxPayers) {
      const name = `${payer.countryCode} ${payer.deliveryType}`;
      const known = sandboxCurrencies.get(name) ?? new Set();
      for (const currency of payer.currencies) known.add(currency);
      sandboxCurrencies.set(name, known);
    }
  }
  return sandboxCurrencies.get(`${code} ${deliveryType}`) ?? new Set();
}
