import { type Country, listCountries } from '../server/src/core/country.ts';
import type { RailModule } from '../server/src/rails/contract/contract.ts';
import {
  type CorridorDeclaration,
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
    '## What each kind can pay',
    '',
    'Where a kind can pay in any country, the payers that you configure name the countries.',
    '',
    '| kind | countries | delivery types | currencies |',
    '|---|---|---|---|',
    ...modules.flatMap(describeCorridors),
    '',
    '## The sandbox by country',
    '',
    'What the simulated network of staging can pay.',
    '',
    '| country | delivery types and currencies |',
    '|---|---|',
    ...listCountries().map(describeSandboxCountry),
    '',
  ].join('\n');
  return new Map([['docs/rails.md', text]]);
}

function describeModule({ kind, about, reference, pace }: RailModule): string {
  const folder = `../server/src/rails/${kind}/README.md`;
  return `| [\`${kind}\`](${folder}) | ${about} | ${reference.lengthMax} | ${pace.concurrencyMax} |`;
}

/** Delivery types with the same countries and currencies share a row. */
function describeCorridors({ kind, corridors }: RailModule): string[] {
  const rows = Map.groupBy(
    corridors,
    ({ countries, currencies }) =>
      `${listed(countries, 'any')}\n${listed(currencies, 'every national currency')}`,
  );
  return [...rows].map(([key, same]) => {
    const [countries, currencies] = key.split('\n');
    const types = same.map(describeDelivery).join(', ');
    return `| \`${kind}\` | ${countries} | ${types} | ${currencies} |`;
  });
}

const listed = (codes: readonly string[] | 'any', any: string): string =>
  codes === 'any' ? any : codes.join(', ');

const describeDelivery = ({ deliveryType, accountForm }: CorridorDeclaration): string =>
  accountForm === undefined ? deliveryType : `${deliveryType} by \`${accountForm}\``;

const payersByCountry = Map.groupBy(sandboxPayers, ({ countryCode }) => countryCode);

function describeSandboxCountry({ code, name }: Country): string {
  const payers = payersByCountry.get(code) ?? [];
  const parts = deliveryTypes.flatMap((type) => {
    const ofType = payers.filter(({ deliveryType }) => deliveryType === type);
    const currencies = new Set(ofType.flatMap((payer) => payer.currencies));
    return currencies.size === 0 ? [] : [`${type} ${[...currencies].join(', ')}`];
  });
  return `| ${code} ${name} | ${parts.join('; ')} |`;
}
