import type { RailHost } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import type { NachaConfig } from './config.ts';

/** Payers that the configuration or the attributes of their corridor make impossible to pay. */
export function listPayerFaults(config: NachaConfig, host: RailHost): string[] {
  return host.payers.flatMap((payer) => findPayerFaults(payer, config, host));
}

function findPayerFaults(payer: PayerDeclaration, config: NachaConfig, host: RailHost): string[] {
  const { key, countryCode, currencies, deliveryType, options } = payer;
  const faults: string[] = [];
  if (deliveryType !== 'BANK_DEPOSIT' || currencies.some((currency) => currency !== 'USD')) {
    return [`the payer ${key} must be a BANK_DEPOSIT in USD`];
  }
  const isInternational = countryCode !== 'USA' || options['entryClass'] === 'IAT';
  if (isInternational && config.iat === undefined) {
    faults.push(`the payer ${key} needs the member iat of the configuration`);
  }
  if (!/^[ -~]{0,10}$/.test(options['entryDescription'] ?? '')) {
    faults.push(`the entryDescription of the payer ${key} must be at most 10 ASCII characters`);
  }
  const asked = host.listAttributes?.(payer, 'USD');
  if (asked === undefined) return faults;
  const missing = listNeeded(isInternational)
    .filter((types) => !types.some((type) => asked.includes(type)))
    .map((types) => types.join(' or '));
  if (missing.length > 0) {
    faults.push(
      `the payer ${key} can never pay: recipients in ${countryCode} are not asked for ` +
        `${missing.join(' and ')}, which an entry needs`,
    );
  }
  return faults;
}

/** Attribute types that an entry cannot do without; of each group one is enough. */
function listNeeded(isInternational: boolean): readonly (readonly string[])[] {
  return isInternational
    ? [['BankAccountNumber'], ['SWIFT', 'BankRoutingNumber']]
    : [['BankRoutingNumber'], ['BankAccountNumber'], ['BankAccountType']];
}
