import type {
  CollectedAttributes,
  Instruction,
  RailCalls,
  RailHost,
  RailModule,
  RecipientDraft,
  RecipientFault,
} from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { guardCall } from '../kit/guarded-calls.ts';
import { createAdyenApi } from './adyen-api.ts';
import { checkSetup } from './check.ts';
import { type AdyenConfig, configSchema, listExclusives, readPayerOptions } from './config.ts';
import { describeCounterparty } from './counterparty.ts';
import { hasOtherScale, listServedCurrencies } from './currencies.ts';
import { addReport, readFunds, readReports } from './funds.ts';
import { hashTarget } from './order.ts';
import { openPayments } from './payments.ts';
import { writeFullName } from './recipient.ts';
import { findUnknownPayments, recoverPayments } from './recovery.ts';
import { openReturnBook } from './returns.ts';
import { sweep } from './sweep.ts';
import { cancel, describeRecipient, findOptions, query, type Setup, send } from './transfers.ts';
import { readCallback } from './webhooks.ts';

/** Payouts from a balance account at Adyen by the Transfers API, version 4 (README.md). */

const currencies = listServedCurrencies();

export const railModule: RailModule<AdyenConfig> = {
  kind: 'adyen',
  about:
    'Bank accounts, stored cards and balance accounts by the Transfers API of Adyen, version 4.',
  corridors: [
    { countries: 'any', deliveryType: 'BANK_DEPOSIT', currencies },
    { countries: 'any', deliveryType: 'BANK_DEPOSIT', accountForm: 'stored_card', currencies },
    { countries: 'any', deliveryType: 'BANK_DEPOSIT', accountForm: 'provider_account', currencies },
    {
      countries: 'any',
      deliveryType: 'MOBILE_WALLET',
      accountForm: 'provider_account',
      currencies,
    },
  ],
  reference: { lengthMax: 64, charset: /^[0-9A-Za-z-]+$/ },
  pace: { concurrencyMax: 16, perSecondMax: 20 },
  configSchema,
  listExclusives,
  checkPayer,
  create: async (config, host) => createRail(config, host),
};

function createRail(config: AdyenConfig, host: RailHost): RailCalls {
  const payments = openPayments(host, (instruction) => {
    const recipient = describeRecipient(host, instruction);
    return recipient?.ok === true ? hashTarget(recipient.counterparty) : undefined;
  });
  const returns = openReturnBook(host);
  const setup: Setup = { config, host, payments, returns, api: createAdyenApi(config, host) };
  return {
    send: guardCall(setup, send),
    query: guardCall(setup, query),
    cancel: guardCall(setup, cancel),
    checkRecipient: (draft) => checkRecipient(draft, host),
    readCallback: (message) =>
      readCallback(message, {
        config,
        payments,
        returns,
        nowMs: host.nowMs(),
        addReport: (notice) => addReport(host, notice),
      }),
    work: async (context) => {
      await readReports(setup, context);
      return await sweep(setup, context);
    },
    workIdleMs: config.pollSeconds * 1000,
    readFunds: (context) => readFunds(setup, context),
    recover: (sinceMs, context) => recoverPayments(setup, sinceMs, context),
    findUnknownPayments: (context) => findUnknownPayments(setup, context),
    check: (context) => checkSetup(setup, context),
  };
}

function checkRecipient(draft: RecipientDraft, host: RailHost): readonly RecipientFault[] {
  const options = findOptions(host, draft.payerKey);
  const { attributes, currency } = draft;
  if (options === undefined || hasOtherScale(currency)) {
    const detail = 'the payer does not pay this currency';
    return [{ field: 'amount', code: 'not_served', detail }];
  }
  if (attributes !== undefined) {
    const recipient = describeCounterparty({ ...draft, attributes }, options);
    return recipient.ok ? [] : recipient.faults;
  }
  // Attributes that come later may complete the rest of the recipient.
  const isNamed =
    options.counterparty !== 'bankAccount' || writeFullName({ ...draft, attributes: {} }) !== '';
  const detail = 'the name must have letters that can be written in Latin script';
  return isNamed ? [] : [{ field: 'last_name', code: 'missing', detail }];
}

/** Name and address of a recipient who has everything, in the country of the payer. */
function describeSampleBeneficiary(countryCode: string): Instruction['beneficiary'] {
  return {
    firstName: 'Ana',
    middleName: '',
    lastName: 'Sample',
    businessName: '',
    address1: '1 Main Street',
    address2: '',
    city: 'Springfield',
    stateProvince: 'ON',
    postalCode: '12345',
    countryCode,
    email: '',
    mobileNumber: '',
    dateOfBirth: '',
  };
}

function checkPayer(payer: PayerDeclaration, collected: CollectedAttributes): readonly string[] {
  const read = readPayerOptions(payer);
  if (!read.ok) return read.faults;
  if (hasOtherScale(collected.currency)) {
    return [`the minor units of ${collected.currency} at Adyen differ from ISO 4217`];
  }
  const recipient = describeCounterparty(
    {
      countryCode: payer.countryCode,
      currency: collected.currency,
      beneficiary: describeSampleBeneficiary(payer.countryCode),
      attributes: collected.sample,
    },
    read.options,
  );
  if (recipient.ok) return [];
  // The sample is one of many values; only what is never collected keeps everyone from being paid.
  const types = new Set(collected.attributes.map(({ type }) => type));
  return recipient.faults
    .filter(({ field }) => !types.has(field))
    .map(({ field, detail }) => `recipients are not asked for ${field}: ${detail}`);
}
