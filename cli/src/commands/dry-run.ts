import type { components } from '../../../sdk/src/index.ts';
import type { Output } from '../output.ts';
import { formatFields } from '../table.ts';
import { formatCode, formatMoney } from '../values.ts';

type DryRun = Pick<components['schemas']['DryRun'], 'balances' | 'holds' | 'route'>;

/** What a commit would do, which was not done. */
export function describeDryRun(output: Output, { balances, holds, route }: DryRun): string {
  const others = route.filter(({ excluded_by, is_chosen }) => excluded_by === '' && !is_chosen);
  return formatFields(output, [
    ['dry run', 'nothing was written'],
    ...balances.map(({ currency_code, before, after }): [string, string] => [
      'balance',
      `${formatMoney(before, currency_code)}, then ${formatMoney(after, currency_code)}`,
    ]),
    ['would wait for', holds.map(formatCode).join(', ')],
    ['could take over', others.map(({ payer_name }) => payer_name).join(', ')],
  ]);
}
