import type { components } from '../../../sdk/src/index.ts';
import type { Output } from '../output.ts';
import { printable } from '../table.ts';

/** The obstacles to a payout, for a person. */

type Missing = components['schemas']['MissingDetail'];

export function describeMissing(missing: readonly Missing[]): string[] {
  return missing.map(({ label, field, why, link }) =>
    printable(`  ${label || field}: ${why}${link === '' ? '' : ` ${link}`}`),
  );
}

export function describeObstacles(
  { colors }: Output,
  obstacles: readonly components['schemas']['Obstacle'][],
): string {
  return obstacles
    .flatMap(({ detail, actor, code, missing, shortfall }) => [
      `${colors.yellow('•')} ${printable(detail)} ${colors.dim(`(${code}; to act: ${actor})`)}`,
      ...(shortfall === undefined
        ? []
        : [`  lacking: ${shortfall.amount.text} ${shortfall.currency_code}`]),
      ...describeMissing(missing),
    ])
    .join('\n');
}
