import type { Address } from '@solana/kit';
import { getCurrency } from '../../core/currency.ts';
import type { Instruction } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { toChainUnits } from '../kit/amounts.ts';
import type { SolanaConfig, Token } from './config.ts';
import { addressAttribute } from './payment.ts';
import { isWallet } from './transfer.ts';

/** Converts an instruction into a transfer of a token. */

export type Order = { readonly token: Token; readonly recipient: Address; readonly units: bigint };
export type OrderReading =
  | { readonly kind: 'order'; readonly order: Order }
  | {
      readonly kind: 'refused';
      readonly reason: Extract<Reason, 'currency_refused' | 'amount_refused' | 'invalid_details'>;
    };

/** @param sender The rail's own account, which is not a valid destination. */
export function readInstruction(
  config: SolanaConfig,
  sender: Address,
  {
    currency,
    amountMinor,
    attributes,
  }: Pick<Instruction, 'currency' | 'amountMinor' | 'attributes'>,
): OrderReading {
  const token = config.tokens.find((one) => one.currency === currency);
  if (token === undefined) return { kind: 'refused', reason: 'currency_refused' };
  const units = toChainUnits(amountMinor, {
    currency: getCurrency(currency).scale,
    chain: token.decimals,
  });
  if (units === undefined || units <= 0n || units >= 2n ** 64n) {
    return { kind: 'refused', reason: 'amount_refused' };
  }
  const recipient = attributes[addressAttribute] ?? '';
  const isOwn = recipient === sender || config.tokens.some(({ mint }) => mint === recipient);
  if (isOwn || !isWallet(recipient)) return { kind: 'refused', reason: 'invalid_details' };
  return { kind: 'order', order: { token, recipient, units } };
}
