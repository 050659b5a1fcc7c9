import { type Address, isAddress, isAddressEqual, zeroAddress } from 'viem';
import { findCurrency } from '../../core/currency.ts';
import type { Instruction } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { coinDecimals, toChainUnits } from './amounts.ts';
import type { EvmConfig } from './config.ts';
import type { Payment } from './payment.ts';

/** From an instruction to what the chain is asked for. */

/** The attribute that holds the recipient's address. */
export const addressAttribute = 'BankAccountNumber';

export type Order = Pick<Payment, 'contract' | 'units'>;
export type OrderReading =
  | { readonly kind: 'order'; readonly order: Order }
  | {
      readonly kind: 'refused';
      readonly reason: Extract<Reason, 'currency_refused' | 'amount_refused' | 'invalid_details'>;
    };

/** @param sender The rail's own account, which is nobody's destination. */
export function readInstruction(
  config: EvmConfig,
  sender: Address,
  instruction: Pick<Instruction, 'currency' | 'amountMinor' | 'attributes'>,
): OrderReading {
  const { currency, amountMinor } = instruction;
  const recipient = instruction.attributes[addressAttribute] ?? '';
  const scale = findCurrency(currency)?.scale;
  const token = config.tokens.find((one) => one.currency === currency);
  if (scale === undefined || (currency !== 'ETH' && token === undefined)) {
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
  return { kind: 'order', order: { contract, units: units.toString() } };
}

/**
 * An address in mixed case must carry the right checksum (ERC-55). What is sent to the zero
 * address, to a token's own contract or to ourselves is lost or never arrives.
 */
function isDestination(text: string, forbidden: readonly Address[]): text is Address {
  if (!isAddress(text, { strict: true })) return false;
  return !forbidden.some((address) => isAddressEqual(address, text));
}

/** Whether the order is what this configuration would make of the payment today. */
export function isStillRight(config: EvmConfig, sender: Address, payment: Payment): boolean {
  const reading = readInstruction(config, sender, {
    currency: payment.currency,
    amountMinor: BigInt(payment.amountMinor),
    attributes: { [addressAttribute]: payment.recipient },
  });
  return (
    reading.kind === 'order' &&
    reading.order.units === payment.units &&
    reading.order.contract?.toLowerCase() === payment.contract?.toLowerCase()
  );
}
