import { isSEPACountry } from 'ibantools';
import { findCountry } from '../../core/country.ts';
import { findCurrency } from '../../core/currency.ts';
import type { RecipientFault } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import type { Reason } from '../contract/reasons.ts';
import { type Account, readAccount } from './account.ts';
import { findIn, findPurpose } from './codes.ts';
import type { Config, Debtor } from './config.ts';
import { toLatinText } from './latin-text.ts';
import type { PaymentOrder } from './orders.ts';
import {
  type Address,
  type Agent,
  listAddressFaults,
  listAgentFaults,
  listNameFaults,
  nameCreditor,
  readAddress,
  readAgent,
} from './recipient.ts';

/** The credit transfer of an instruction, or the faults for which there is none. */

export type Service = 'sepa' | 'cross_border';

export type Transfer = {
  readonly reference: string;
  readonly service: Service;
  readonly debtor: Debtor;
  readonly currency: string;
  readonly amountMinor: bigint;
  readonly creditorName: string;
  /** Undefined inside SEPA, where banks need none. */
  readonly creditorAddress: Address | undefined;
  readonly account: Account;
  readonly agent: Agent;
  readonly chargeBearer: 'SLEV' | 'DEBT' | 'CRED' | 'SHAR';
  readonly purpose: { readonly code: string } | { readonly proprietary: string } | undefined;
  readonly originator: string;
  readonly remittance: string;
};

/** A fault, with the reason that the payout gets. */
export type DraftFault = RecipientFault & { readonly reason: Reason };

export type Draft =
  | { readonly ok: true; readonly transfer: Transfer }
  | { readonly ok: false; readonly faults: readonly [DraftFault, ...DraftFault[]] };

export type DraftSettings = {
  readonly config: Config;
  readonly payers: readonly PayerDeclaration[];
};

/** The maximum of a SEPA credit transfer: 999,999,999.99 euro. */
const sepaAmountMinorMax = 99_999_999_999n;
/** Digits of an amount in the messages, before and after the decimal point. */
const amountDigitsMax = 18;

export function draftTransfer(order: PaymentOrder, { config, payers }: DraftSettings): Draft {
  const options = payers.find(({ key }) => key === order.payerKey)?.options ?? {};
  const debtor = findDebtor(order.currency, { config, wanted: options['debtor'] });
  if (debtor === undefined) {
    const detail = 'no debtor account of the rail is configured for this currency';
    return refuse({ field: 'currency', code: 'not_served', reason: 'currency_refused', detail });
  }
  const country = findCountry(order.countryCode);
  if (country === undefined) {
    const detail = 'the country is unknown';
    return refuse({ field: 'country', code: 'not_served', reason: 'payer_unavailable', detail });
  }
  const account = readAccount(order.attributes['BankAccountNumber'], country.alpha2);
  if ('fault' in account) {
    // Without the account the service is unknown, and so whether an address is needed.
    const name = nameCreditor(order, 140);
    return { ok: false, faults: [account.fault, ...listNameFaults(order, name)] };
  }
  const service = chooseService(order, { debtor, account, wanted: options['service'] });
  const isSepa = service === 'sepa';
  const creditorName = nameCreditor(order, isSepa ? 70 : 140);
  const agent = readAgent(order);
  const address = readAddress(order, country.alpha2);
  const [fault, ...others] = [
    ...listAmountFaults(order.amountMinor, isSepa),
    ...listAgentFaults(agent, { account, country: country.alpha2, isSepa }),
    ...listNameFaults(order, creditorName),
    ...(isSepa ? [] : listAddressFaults(order, address)),
  ];
  if (fault !== undefined) return { ok: false, faults: [fault, ...others] };
  const bearer = options['chargeBearer'];
  const originator = toLatinText(order.originator.name, 70);
  return {
    ok: true,
    transfer: {
      reference: order.reference,
      service,
      debtor,
      currency: order.currency,
      amountMinor: order.amountMinor,
      creditorName,
      creditorAddress: isSepa ? undefined : address,
      account,
      agent,
      chargeBearer: isSepa ? 'SLEV' : isChargeBearer(bearer) ? bearer : config.chargeBearer,
      purpose: readPurpose(order, { config, isSepa }),
      originator,
      remittance: toLatinText(
        config.remittanceText
          .replaceAll('{reference}', order.reference)
          .replaceAll('{originator}', originator),
        140,
      ),
    },
  };
}

function refuse(fault: DraftFault): Draft {
  return { ok: false, faults: [fault] };
}

function findDebtor(
  code: string,
  { config, wanted }: { config: Config; wanted: string | undefined },
): Debtor | undefined {
  const currency = findCurrency(code);
  if (currency === undefined || currency.isCrypto) return undefined;
  return config.debtors.find(
    ({ key, currencies }) => (wanted ?? key) === key && currencies.includes(code),
  );
}

function isChargeBearer(text: string | undefined): text is 'DEBT' | 'CRED' | 'SHAR' {
  return text === 'DEBT' || text === 'CRED' || text === 'SHAR';
}

function listAmountFaults(amountMinor: bigint, isSepa: boolean): DraftFault[] {
  const isTooLong = amountMinor.toString().length > amountDigitsMax;
  const isTooLarge = isTooLong || (isSepa && amountMinor > sepaAmountMinorMax);
  if (amountMinor > 0n && !isTooLarge) return [];
  const detail = isSepa
    ? 'the amount must be 0.01 to 999,999,999.99 euro'
    : `the amount must be positive and have at most ${amountDigitsMax} digits`;
  return [{ field: 'amount', code: 'amount_refused', reason: 'amount_refused', detail }];
}

function chooseService(
  order: PaymentOrder,
  choice: { debtor: Debtor; account: Account; wanted: string | undefined },
): Service {
  const { debtor, account, wanted } = choice;
  const isPossible =
    order.currency === 'EUR' &&
    account.kind === 'iban' &&
    isSEPACountry(account.iban.slice(0, 2)) &&
    debtor.iban !== '' &&
    isSEPACountry(debtor.iban.slice(0, 2));
  return isPossible && wanted !== 'cross_border' ? 'sepa' : 'cross_border';
}

function readPurpose(
  order: PaymentOrder,
  { config, isSepa }: { config: Config; isSepa: boolean },
): Transfer['purpose'] {
  const given = order.attributes['RemittanceReason'] ?? '';
  if (given === '') return undefined;
  const code = findIn(config.purposeCodes, given) ?? findPurpose(given);
  if (code !== undefined) return { code };
  const proprietary = toLatinText(given, 35);
  // SEPA allows the codes of ISO alone.
  return isSepa || proprietary === '' ? undefined : { proprietary };
}
