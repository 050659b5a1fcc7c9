import type { RailHost } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import type { NachaConfig } from './config.ts';

/** Faults of payers that the configuration or the attributes of their corridor cannot serve. */
export function listPayerFaults(config: NachaConfig, host: RailHost): string[] {
  return host.payers.flatMap((payer) => findPayerFaults(payer, config, host));
}

function findPayerFaults(payer: PayerDeclaration, config: NachaConfig, host: RailHost): string[] {
  const { key, countryCode, currencies, deliveryType, options } = payer;
  const faults: string[] = [];
  if (deliveryType !== 'BANK_DEPOSIT' || currencies.some((currency) => currency !== 'USD')) {
    return [`the payer ${key} must have the delivery type BANK_DEPOSIT and the currency USD`];
  }
  const isInternational = countryCode !== 'USA' || options['entryClass'] === 'IAT';
  if (isInternational && config.iat === undefined) {
    faults.push(`the payer ${key} requires the setting iat`);
  }
  if (!/^[ -~]{0,10}$/.test(options['entryDescription'] ?? '')) {
    faults.push(`the entryDescription of the payer ${key} must be at most 10 ASCII characters`);
  }
  const asked = host.listAttributes?.(payer, 'USD');
  if (asked === undefined) return faults;
  const missing = listRequired(isInternational)
    .filter((types) => !types.some((type) => asked.includes(type)))
    .map((types) => types.join(' or '));
  if (missing.length > 0) {
    faults.push(
      `the payer ${key} can never pay: an entry requires ${missing.join(' and ')}, which is not ` +
        `collected from recipients in ${countryCode}`,
    );
  }
  return faults;
}

/** Attribute types that an entry requires, one of each group. */
function listRequired(isInternational: boolean): readonly (readonly string[])[] {
  return isInternational
    ? [['BankAccountNumber'], ['SWIFT', 'BankRoutingNumber']]
    : [['BankRoutingNumber'], ['BankAccountNumber'], ['BankAccountType']];
}
