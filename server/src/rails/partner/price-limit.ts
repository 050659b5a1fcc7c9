import { getCurrency } from '../../core/currency.ts';
import { convertBack, divideRounded, getRate } from '../../core/rate.ts';
import type { Instruction } from '../contract/contract.ts';

/**
 * The most that the payment may take from the balance, minor units of the source currency: the amount
 * at the quoted rate, the quoted fee, and what the operator bears of the source amount; rounded up.
 */
export function findPriceLimit(
  instruction: Pick<Instruction, 'quoted' | 'currency' | 'amountMinor'>,
): { readonly currency: string; readonly amountMinor: bigint } | undefined {
  const { quoted } = instruction;
  if (quoted === undefined) return undefined;
  const from = getCurrency(quoted.sourceCurrency);
  const to = getCurrency(instruction.currency);
  const rate = getRate(quoted.rate);
  const sourceMinor = convertBack(instruction.amountMinor, { from, to, rate }, 'ceil');
  const bearMinor = divideRounded(sourceMinor * BigInt(quoted.bearBasisPoints), 10_000n, 'ceil');
  return { currency: from.code, amountMinor: sourceMinor + quoted.feeMinor + bearMinor };
}
