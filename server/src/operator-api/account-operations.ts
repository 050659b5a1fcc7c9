import { z } from 'zod';
import { objectAnswer } from '../http/schema.ts';
import {
  count,
  defineOperation,
  list,
  nothing,
  optionalText,
  pagedList,
  text,
  toList,
  toPagedList,
} from './operation.ts';

/** Accounts of clients: their balances, settings, credentials and limits. */

const account = z
  .object({
    id: text('The account'),
    name: text('Its name'),
    created_at: text('When it was created, UTC'),
  })
  .meta({ id: 'OperatorAccount' });

const booked = z
  .object({
    result: z
      .enum(['booked', 'booked_before'])
      .describe('`booked_before`: the reference was booked before, and nothing has changed'),
    currency: text('Of the balance'),
    balance: text('The balance after it, decimal'),
  })
  .meta({ id: 'BookedBalance' });

const suspense = z
  .object({
    account: text('The account'),
    name: text('Its name'),
    user_token: text('The recipient'),
    payout_token: text('The payout'),
    currency: text('Of its recipient'),
    amount: text('Decimal; negative: written off'),
    latest_at: text('When it last changed, UTC'),
  })
  .meta({ id: 'SuspenseBalance' });

const accountOperationList = () => [
  defineOperation({
    command: 'account list',
    method: 'GET',
    path: '/operator/accounts',
    operationId: 'listAccounts',
    summary: 'List the accounts of clients',
    result: pagedList(account, 'The oldest first').meta({ id: 'OperatorAccounts' }),
    shape: toPagedList,
  }),
  defineOperation({
    command: 'account create',
    method: 'POST',
    path: '/operator/accounts',
    operationId: 'createClientAccount',
    summary: 'Create an account',
    description: 'Its secrets are shown only once.',
    result: z
      .object({
        account: text('The account'),
        client_id: text('Of its first client credentials'),
        client_secret: text('Shown once'),
        api_key: text('Its first API key; shown once'),
      })
      .meta({ id: 'NewClientAccount' }),
  }),
  defineOperation({
    command: 'account set',
    method: 'PATCH',
    path: '/operator/accounts/{account}',
    operationId: 'changeAccount',
    summary: 'Change the settings of an account',
    // A path on the machine of the command line.
    fixed: { logo: undefined },
    result: nothing.meta({ id: 'ChangedAccount' }),
    refusals: [404],
  }),
];

const bookingOperations = () => [
  defineOperation({
    command: 'account fund',
    method: 'POST',
    path: '/operator/accounts/{account}/fundings',
    operationId: 'fundAccount',
    summary: 'Record money that came in from outside',
    description: 'Once for each `reference`: a repeat moves nothing.',
    result: booked,
    refusals: [404, 409],
  }),
  defineOperation({
    command: 'account adjust',
    method: 'POST',
    path: '/operator/accounts/{account}/adjustments',
    operationId: 'adjustAccount',
    summary: 'Correct a balance',
    description: 'Once for each `reference`. A negative amount takes from the balance.',
    result: booked,
    refusals: [404, 409],
  }),
  defineOperation({
    command: 'suspense list',
    method: 'GET',
    path: '/operator/suspense',
    operationId: 'listSuspense',
    summary: 'List what payouts left in suspense',
    description: 'Returned in excess (positive), or written off (negative), and not cleared yet.',
    result: z
      .object({
        matching: count('How many there are'),
        shown: count('In this answer'),
        suspense: z.array(suspense).describe('By payout, the latest first'),
      })
      .meta({ id: 'Suspense' }),
  }),
  defineOperation({
    command: 'suspense clear',
    method: 'POST',
    path: '/operator/payouts/{payout}/suspense-clearings',
    operationId: 'clearSuspense',
    summary: 'Clear what a payout left in suspense',
    description:
      'Once for each `reference`. A positive amount covers what was written off, a negative one takes from an excess.',
    result: booked,
    refusals: [404, 409],
  }),
  defineOperation({
    command: 'account bookings',
    method: 'GET',
    path: '/operator/accounts/{account}/bookings',
    operationId: 'listBookings',
    summary: 'List what operators have booked on the balances of an account',
    result: pagedList(objectAnswer).meta({ id: 'Bookings' }),
    shape: toPagedList,
    refusals: [404],
  }),
];

const sender = z
  .object({
    legal_name: text('Registered name; "" where nothing is stored'),
    address1: text('Street and number'),
    city: text('Town'),
    state_province: text('State or province'),
    postal_code: text('Postal code'),
    country: text('Of its registration, three letters'),
    registration_type: text('LEIX, RAID, TXID or MISC, as in IVMS101; "" without a number'),
    registration: text('Its number'),
    registration_authority: text("Of the GLEIF's list"),
  })
  .meta({ id: 'AccountSender' });

const senderOperations = () => [
  defineOperation({
    command: 'account sender',
    method: 'GET',
    path: '/operator/accounts/{account}/sender',
    operationId: 'findSender',
    summary: 'See the verified data of a client as a sender',
    result: sender,
    refusals: [404],
  }),
  defineOperation({
    command: 'account set-sender',
    method: 'PUT',
    path: '/operator/accounts/{account}/sender',
    operationId: 'storeSender',
    summary: 'Store the verified data of a client as a sender',
    description: 'Rules on the data of senders read it. It replaces what was stored.',
    result: z.object({ result: text('done') }).meta({ id: 'StoredSender' }),
    refusals: [404],
  }),
];

const limit = z
  .object({
    name: text('The name of the limit'),
    per: text('What it limits: payout, account or corridor'),
    hours: z.number().describe('The window'),
    count_max: optionalText('Maximum number of payouts; null: no limit'),
    usd_max: optionalText('Maximum in USD; null: no limit'),
    corridor: optionalText('Only of this corridor; null: of all'),
  })
  .meta({ id: 'AccountLimit' });

const limitOperations = () => [
  defineOperation({
    command: 'limit list',
    method: 'GET',
    path: '/operator/accounts/{account}/limits',
    operationId: 'listLimits',
    summary: 'List the limits of an account',
    result: list(limit, 'By name').meta({ id: 'AccountLimits' }),
    shape: toList,
    refusals: [404],
  }),
  defineOperation({
    command: 'limit set',
    method: 'PUT',
    path: '/operator/accounts/{account}/limits/{name}',
    operationId: 'setLimit',
    summary: 'Set a limit of an account',
    description: 'Raising one can need two operators.',
    result: z.object({ in_force: text('From when on') }).meta({ id: 'LimitInForce' }),
    refusals: [404],
  }),
  defineOperation({
    command: 'limit remove',
    method: 'POST',
    path: '/operator/accounts/{account}/limits/{name}/removal',
    operationId: 'removeLimit',
    summary: 'Remove a limit of an account',
    result: nothing.meta({ id: 'RemovedLimit' }),
    shape: () => ({}),
    refusals: [404],
  }),
];

const budget = z
  .object({
    currency: text('Of the amounts'),
    per_proposal: optionalText('The most that a proposal may debit, decimal; null: any'),
    per_day: optionalText('The most that confirmed proposals may debit in a day; null: any'),
    open_max: count('How many proposals may be open'),
  })
  .meta({ id: 'CredentialBudget' });

const credential = z
  .object({
    id: text('The credential'),
    kind: text('client or api_key'),
    scopes: z.array(z.string()).describe('What it may do'),
    created_at: text('When it was created, UTC'),
    expires_at: optionalText('When it expires, UTC; null: never'),
    revoked_at: optionalText('When it was revoked, UTC; null while it is valid'),
    replaced_by: optionalText('The credential that a rotation made; null where there was none'),
    budgets: z.array(budget).describe('What it may propose, by currency; empty: any amount'),
  })
  .meta({ id: 'AccountCredential' });

const newCredential = z.object({
  credential_id: text('The credential'),
  api_key: text('The API key; shown once').optional(),
  client_id: text('Of client credentials').optional(),
  client_secret: text('Of client credentials; shown once').optional(),
});

const credentialOperations = () => [
  defineOperation({
    command: 'credential list',
    method: 'GET',
    path: '/operator/accounts/{account}/credentials',
    operationId: 'listCredentials',
    summary: 'List the credentials of an account',
    result: list(credential, 'The oldest first').meta({ id: 'AccountCredentials' }),
    shape: toList,
    refusals: [404],
  }),
  defineOperation({
    command: 'credential create',
    method: 'POST',
    path: '/operator/accounts/{account}/credentials',
    operationId: 'createCredential',
    summary: 'Create a credential',
    description: 'Its secret is shown only once.',
    result: newCredential.meta({ id: 'NewCredential' }),
    refusals: [404],
  }),
  defineOperation({
    command: 'credential rotate',
    method: 'POST',
    path: '/operator/accounts/{account}/credentials/{credential}/rotation',
    operationId: 'rotateCredential',
    summary: 'Replace the secret of a credential',
    description: 'The new secret is shown only once. The old one stays valid for the overlap.',
    result: newCredential
      .extend({ old_expires_at: text('Until when the old secret is valid, UTC') })
      .meta({ id: 'RotatedCredential' }),
    refusals: [404],
  }),
  defineOperation({
    command: 'credential budget',
    method: 'POST',
    path: '/operator/accounts/{account}/credentials/{credential}/budget',
    operationId: 'setCredentialBudget',
    summary: 'Set what a credential may propose in a currency, or remove it',
    description:
      'For a credential with the scope `payouts:propose`. Answers all of its budgets; without `currency` it changes none.',
    result: list(budget, 'By currency').meta({ id: 'CredentialBudgets' }),
    shape: toList,
    refusals: [404],
  }),
  defineOperation({
    command: 'credential revoke',
    method: 'POST',
    path: '/operator/accounts/{account}/credentials/{credential}/revoke',
    operationId: 'revokeCredential',
    summary: 'Revoke a credential',
    description: 'It takes effect within a second.',
    result: nothing.meta({ id: 'RevokedCredential' }),
    refusals: [404],
  }),
];

const reportOperation = () =>
  defineOperation({
    command: 'report month',
    method: 'GET',
    path: '/operator/reports/month',
    operationId: 'reportMonth',
    summary: 'Volumes, fees and margin of a month',
    description: 'By client, rail and corridor. The sums are those of the ledger.',
    fixed: { format: 'json' },
    result: z
      .object({
        environment: text('staging or live'),
        from: text('The first day'),
        to: text('The day after the last'),
        has_ended: z.boolean().describe('Whether the month is over'),
        earned: z
          .array(
            z.object({
              currency: text('The currency'),
              fees: text('Fees less refunded ones'),
              fx_margin: text('The margin of exchanges'),
            }),
          )
          .describe('What was earned in the month, before charges of rails'),
        lines: z.array(objectAnswer).describe('By client, kind of journal, rail and corridor'),
        ledger: z.array(objectAnswer).describe('Opening, movement and closing of balances'),
      })
      .meta({ id: 'MonthReport' }),
    refusals: [404],
  });

export const accountOperations = () => [
  ...accountOperationList(),
  ...bookingOperations(),
  ...senderOperations(),
  ...limitOperations(),
  ...credentialOperations(),
  reportOperation(),
];
