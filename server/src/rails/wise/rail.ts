import type {
  CollectedAttributes,
  RailCalls,
  RailHost,
  RailModule,
  RecipientDraft,
  RecipientFault,
} from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { guardCall } from '../kit/guarded-calls.ts';
import { emptyBeneficiary } from '../kit/recipient.ts';
import { chooseForm, listFormFaults } from './account-forms.ts';
import { createApi } from './api.ts';
import { workGroups } from './batches.ts';
import { readCallback } from './callbacks.ts';
import { check, readFunds } from './check.ts';
import { configSchema, listExclusives, readPublicKey, type WiseConfig } from './config.ts';
import { openGroups } from './groups.ts';
import { cancel, query, send } from './pay.ts';
import { openPayments } from './payments.ts';
import { readPrices } from './prices.ts';
import {
  accountKeys,
  assignableTypes,
  assignmentPrefix,
  listNameFaults,
  listRecipientFaults,
  readField,
} from './recipient-fields.ts';
import { refreshRequirements } from './requirement-passes.ts';
import { createRequirements } from './requirements.ts';
import { readRecipient, type Setup } from './setup.ts';
import { findUnknownTransfers, pollRefunds, recoverTransfers } from './transfer-list.ts';

/** Payments by transfers of the Wise Platform API, funded from a balance (README.md). */
export const railModule: RailModule<WiseConfig> = {
  kind: 'wise',
  about: 'Bank accounts by Wise: transfers from a balance held with Wise, quoted at its price.',
  corridors: [{ countries: 'any', deliveryType: 'BANK_DEPOSIT', currencies: 'any' }],
  // A customerTransactionId is a UUID, and the reference is it.
  reference: {
    lengthMax: 36,
    charset: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  },
  pace: { concurrencyMax: 8, perSecondMax: 10 },
  configSchema,
  listExclusives,
  checkPayer,
  create: async (config, host) => createWiseRail(config, host),
};

function createWiseRail(config: WiseConfig, host: RailHost): RailCalls {
  const api = createApi(config, host);
  const payments = openPayments(host);
  const requirements = createRequirements({ api, host }, config.requirementsSeconds * 1000);
  const groups = openGroups(host.store);
  const setup: Setup = { config, host, api, payments, groups, requirements };
  const webhookKeys = config.webhookKeys.map(readPublicKey);
  const { profileId, sourceCurrency } = config;
  let nextPollMs = 0;
  return {
    send: guardCall(setup, send),
    query: guardCall(setup, query),
    cancel: guardCall(setup, cancel),
    checkRecipient: (draft) => checkRecipient(setup, draft),
    readCallback: (message) =>
      readCallback(message, { host, payments, webhookKeys, profileId, sourceCurrency }),
    work: async (context) => {
      // Payments that wait, and groups, are continued even where batchGroups was taken out meanwhile.
      const nextAtMs = await workGroups(setup, context);
      await refreshRequirements(setup, context);
      // Batch groups need passes more often than the list needs to be read.
      if (config.batchGroups === undefined || host.realNowMs() >= nextPollMs) {
        nextPollMs = host.realNowMs() + config.pollSeconds * 1000;
        await pollRefunds(setup, context);
      }
      return nextAtMs;
    },
    workIdleMs: config.pollSeconds * 1000,
    readFunds: (context) => readFunds(setup, context),
    readPrices: (context) => readPrices(setup, context),
    check: (context) => check(setup, context),
    recover: (sinceMs, context) => recoverTransfers(setup, sinceMs, context),
    findUnknownPayments: (context) => findUnknownTransfers(setup, context),
  };
}

function checkRecipient(
  { config, host, requirements }: Setup,
  { attributes, ...draft }: RecipientDraft,
): readonly RecipientFault[] {
  const recipient = readRecipient(host, { ...draft, attributes: attributes ?? {} });
  const { sourceCurrency } = config;
  const hasAttributes = attributes !== undefined;
  const forms = requirements.findStored(recipient);
  if (forms === undefined) return listRecipientFaults(recipient, { sourceCurrency, hasAttributes });
  const names = listNameFaults(recipient);
  const form = chooseForm(forms, recipient);
  // What the client stores later is not missing yet.
  if (!hasAttributes || form === undefined) return names;
  const named = new Set(names.map(({ field }) => field));
  return [...names, ...listFormFaults(form, recipient).filter(({ field }) => !named.has(field))];
}

/** Refuses a payer whose accounts our attributes cannot describe to Wise. */
function checkPayer(payer: PayerDeclaration, collected: CollectedAttributes): readonly string[] {
  return [...listAssignmentFaults(payer), ...listAccountFaults(payer, collected)];
}

function listAssignmentFaults({ options }: PayerDeclaration): readonly string[] {
  return Object.entries(options)
    .filter(([key, type]) => key.startsWith(assignmentPrefix) && !assignableTypes.has(type))
    .map(([key]) => `options["${key}"] must be one of ${[...assignableTypes].join(', ')}`);
}

function listAccountFaults(
  payer: PayerDeclaration,
  { currency, sample }: CollectedAttributes,
): readonly string[] {
  const keys = accountKeys[currency];
  if (keys === undefined) {
    return payer.options['recipientType'] === undefined
      ? ["set options.recipientType to Wise's type of recipient account for this currency"]
      : [];
  }
  if (payer.options['recipientType'] !== undefined) return [];
  const { countryCode } = payer;
  const recipient = {
    payer,
    countryCode,
    currency,
    attributes: sample,
    beneficiary: emptyBeneficiary,
  };
  const missing = keys.filter((key) => (readField(key, recipient)?.value ?? '') === '');
  return missing.map((key) => `clients are not asked for an attribute that fills Wise's ${key}`);
}
