import { isSEPACountry } from 'ibantools';
import { findCountry } from '../../core/country.ts';
import type { CollectedAttributes, RailHost, RailModule } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { readAccount } from './account.ts';
import { findClearingMember } from './codes.ts';
import { type Config, configSchema, type Debtor, listExclusives } from './config.ts';
import { checkFolders } from './directory.ts';

/**
 * Bank files of ISO 20022: payments are collected, written into a credit transfer file at each cut-off
 * and delivered to the bank, whose status and account reports give the outcomes.
 */
export const railModule: RailModule<Config> = {
  kind: 'iso20022',
  about:
    'Bank transfers by ISO 20022 files (pain.001, pain.002, camt.054, camt.053): SEPA, SEPA Instant and cross-border, and FedNow and RTP through a bank (pacs.008, pacs.002), over SFTP or folders',
  corridors: [{ countries: 'any', deliveryType: 'BANK_DEPOSIT', currencies: 'any' }],
  // EndToEndId: 35 characters. Letters and digits pass every bank unchanged.
  reference: { lengthMax: 35, charset: /^[A-Za-z0-9]+$/ },
  // A send uses the rail's store alone.
  pace: { concurrencyMax: 8, perSecondMax: null },
  configSchema,
  listExclusives,
  checkPayer,
  create: async (config, host) => {
    checkPayers(config, host);
    if (config.exchange.mode === 'directory') await checkFolders(config.exchange);
    // Loaded here, because few services operate this kind of rail.
    const { createCalls } = await import('./calls.ts');
    return createCalls(config, host);
  },
};

/** A transfer names the account and its bank: by an IBAN, by a SWIFT/BIC, or in a known clearing. */
function checkPayer(
  { countryCode }: PayerDeclaration,
  { sample }: CollectedAttributes,
): readonly string[] {
  if (sample['BankAccountNumber'] === undefined)
    return ['recipients are not asked for a bank account'];
  const alpha2 = findCountry(countryCode)?.alpha2 ?? '';
  const account = readAccount(sample['BankAccountNumber'], alpha2);
  if ('fault' in account) return [account.fault.detail];
  const isNamed =
    account.kind === 'iban' ||
    sample['SWIFT'] !== undefined ||
    findClearingMember(countryCode, sample) !== undefined;
  return isNamed
    ? []
    : ['recipients are asked for no bank that this rail can name (IBAN, SWIFT or clearing code)'];
}

function checkPayers(config: Config, { payers }: RailHost): void {
  for (const payer of payers) {
    const { key, deliveryType, currencies, options } = payer;
    if (deliveryType !== 'BANK_DEPOSIT') {
      throw new Error(`payer ${key}: the delivery type must be BANK_DEPOSIT`);
    }
    const { debtor } = options;
    const known = config.debtors.filter((one) => debtor === undefined || one.key === debtor);
    if (known.length === 0) throw new Error(`payer ${key}: debtor ${debtor} not found`);
    const missing = currencies.find((code) => !known.some((one) => one.currencies.includes(code)));
    if (missing !== undefined) throw new Error(`payer ${key}: no debtor account pays ${missing}`);
    if (config.scheme !== undefined) checkSchemePayer(payer);
    else if (options['service'] === 'instant') checkInstantPayer(payer, known);
  }
}

function checkSchemePayer(payer: PayerDeclaration): void {
  const { key, currencies, countryCode } = payer;
  if (countryCode !== 'USA' || currencies.some((code) => code !== 'USD'))
    throw new Error(`payer ${key}: the scheme delivers USD in USA alone`);
  checkAlwaysOpen(payer);
}

function checkInstantPayer(payer: PayerDeclaration, debtors: readonly Debtor[]): void {
  const { key, currencies } = payer;
  if (currencies.some((code) => code !== 'EUR'))
    throw new Error(`payer ${key}: an instant payer must deliver EUR alone`);
  const debtor = debtors.find((one) => one.currencies.includes('EUR'));
  if (debtor === undefined || !isSEPACountry(debtor.iban.slice(0, 2)))
    throw new Error(`payer ${key}: an instant payer needs a debtor with an IBAN of SEPA`);
  checkAlwaysOpen(payer);
}

/** An instant scheme is open on every day and hour. */
function checkAlwaysOpen({ key, availability }: PayerDeclaration): void {
  const { calendar, weekend, cutOff, delay } = availability;
  if (calendar !== null || weekend.length > 0 || cutOff !== null || !('minutes' in delay)) {
    const remedy = 'calendar and cutOff null, an empty weekend, and a delay in minutes';
    throw new Error(`payer ${key}: an instant payer is always open: ${remedy}`);
  }
}
