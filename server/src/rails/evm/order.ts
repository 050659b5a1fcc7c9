import { type Address, isAddress, isAddressEqual, zeroAddress } from 'viem';
import { findCurrency } from '../../core/currency.ts';
import type { Instruction } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { toChainUnits } from '../kit/amounts.ts';
import { coinDecimals } from './amounts.ts';
import { type EvmConfig, getCoin } from './config.ts';
import { addressAttribute, type Payment } from './payment.ts';

/** Converts an instruction into a transfer on the chain. */

export type Order = Pick<Payment, 'contract' | 'units'>;
export type OrderReading =
  | { readonly kind: 'order'; readonly order: Order }
  | {
      readonly kind: 'refused';
      readonly reason: Extract<Reason, 'currency_refused' | 'amount_refused' | 'invalid_details'>;
    };

/** @param sender The rail's own account, which is not a valid destination. */
export function readInstruction(
  config: EvmConfig,
  sender: Address,
  instruction: Pick<Instruction, 'currency' | 'amountMinor' | 'attributes'>,
): OrderReading {
  const { currency, amountMinor } = instruction;
  const recipient = instruction.attributes[addressAttribute] ?? '';
  const scale = findCurrency(currency)?.scale;
  const token = config.tokens.find((one) => one.currency === currency);
  if (scale === undefined || (currency !== getCoin(config) && token === undefined)) {
    return { kind: 'refused', reason: 'currency_refused' };
  }
  const chainScale = token?.decimals ?? coinDecimals;
  const units = toChainUnits(amountMinor, { currency: scale, chain: chainScale });
  if (units === undefined || units <= 0n || units >= 2n ** 256n) {
    return { kind: 'refused', reason: 'amount_refused' };
  }
  if (
    !isDestination(recipient, [zeroAddress, sender, ...config.tokens.map((one) => one.address)])
  ) {
    return { kind: 'refused', reason: 'invalid_details' };
  }
  const contract = token?.address ?? null;
  return { kind: 'order', order: { contract, units } };
}

/**
 * An address in mixed case must have a valid checksum (ERC-55). Transfers to the zero address, to a
 * token's contract or to the rail's own account are lost or never arrive.
 */
function isDestination(text: string, forbidden: readonly Address[]): text is Address {
  if (!isAddress(text, { strict: true })) return false;
  return !forbidden.some((address) => isAddressEqual(address, text));
}

/** Whether the current configuration still converts the payment into the same order. */
export function isUnchanged(config: EvmConfig, sender: Address, payment: Payment): boolean {
  const reading = readInstruction(config, sender, {
    currency: payment.currency,
    amountMinor: payment.amountMinor,
    attributes: { [addressAttribute]: payment.recipient },
  });
  return (
    reading.kind === 'order' &&
    reading.order.units === payment.units &&
    reading.order.contract?.toLowerCase() === payment.contract?.toLowerCase()
  );
}
