import { decimal } from '../../../../../sdk/src/decimal.ts';
import type { BacktestSide, BacktestSides } from '../../api/operator-types.ts';
import { formatAmount, formatCount } from '../../format/amount.ts';
import { formatLength } from '../../format/time.ts';

/** Figures of both sides as text, and their difference. */

export type Compared = { before: string; after: string; difference: string };

export function compareUsd(before: string, after: string): Compared {
  const difference = decimal(after).minus(decimal(before));
  const order = difference.compare(decimal('0'));
  const text = formatAmount(difference, 'USD');
  return {
    before: formatAmount(before, 'USD'),
    after: formatAmount(after, 'USD'),
    difference: order === 0 ? '' : order > 0 ? `+${text}` : text,
  };
}

function compareNumbers(
  { before, after }: { before: number; after: number },
  format: (value: number) => string,
): Compared {
  const difference = after - before;
  const mark = difference < 0 ? '-' : '+';
  return {
    before: format(before),
    after: format(after),
    difference: difference === 0 ? '' : mark + format(Math.abs(difference)),
  };
}

/** To a tenth: it is a sum of measured rates. */
const formatExpected = (value: number): string =>
  new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 }).format(value);

export type Figure = {
  title: string;
  /** Shown of corridors and rails too, not only of the total. */
  isMain?: boolean;
  compare: (sides: BacktestSides) => Compared;
};

type Named<Value> = {
  [Name in keyof BacktestSide]: BacktestSide[Name] extends Value ? Name : never;
}[keyof BacktestSide];

const usd =
  (name: Named<string>) =>
  ({ before, after }: BacktestSides): Compared =>
    compareUsd(before[name], after[name]);

const number =
  (name: Named<number>, format: (value: number) => string = formatCount) =>
  ({ before, after }: BacktestSides): Compared =>
    compareNumbers({ before: before[name], after: after[name] }, format);

export const figures: readonly Figure[] = [
  { title: 'Payouts', isMain: true, compare: number('payouts') },
  { title: 'Fees (USD)', compare: usd('fee_usd') },
  { title: 'Margin (USD)', compare: usd('margin_usd') },
  { title: 'Cost to senders (USD)', isMain: true, compare: usd('cost_usd') },
  { title: 'Charges of rails (USD)', compare: usd('charges_usd') },
  { title: 'Payouts without charges', compare: number('payouts_without_charges') },
  { title: 'Earned (USD)', isMain: true, compare: usd('earned_usd') },
  {
    title: 'Mean arrival',
    isMain: true,
    compare: number('mean_arrival_seconds', formatLength),
  },
  { title: 'Arrive within an hour', compare: number('arrive_within_hour') },
  { title: 'Arrive within a day', compare: number('arrive_within_day') },
  { title: 'Delayed by daily limits', compare: number('delayed_by_daily_limits') },
  {
    title: 'Expected failures',
    isMain: true,
    compare: number('expected_failures', formatExpected),
  },
  { title: 'Without a failure rate', compare: number('payouts_without_failure_rate') },
];
