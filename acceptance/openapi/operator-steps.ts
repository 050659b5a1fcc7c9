import { holdEnd, laterDay } from './stable-values.ts';
import { type Known, payoutOf, readText, type Step, userOf } from './steps.ts';

/** Operators over HTTP: what they read, and what they change with two people. */

const account = (known: Known) => ({ account: known['account'] ?? '' });
const payout = (known: Known) => ({
  payout: payoutOf(known, 'a bank account payout_token').payout_token,
});
const user = (known: Known) => ({ user: known['user_token'] ?? '' });

const read = (
  operationId: string,
  summary: string,
  request: Step['request'] = () => ({}),
): Step => ({ operationId, summary, request, credential: 'operator', itemsMax: 1 });

const change = (operationId: string, summary: string, request: Step['request']): Step => ({
  operationId,
  summary,
  request,
  credential: 'operator',
  itemsMax: 1,
});

/** Far above what the examples pay. */
const policy = {
  rules: [
    {
      name: 'large',
      when: { amount: { currency: 'USD', above: '50000' } },
      approvers: 2,
      expires_hours: 72,
    },
  ],
  examples: [{ payout: { amount: '50000' }, holds: [] }],
};

/** A lower fee, and a limit. */
const changes = {
  payers: [
    {
      rail: 'sandbox',
      countryCode: 'MEX',
      deliveryType: 'BANK_DEPOSIT',
      fee: [{ upTo: null, fixed: '0.50', basisPoints: 0 }],
      maxLimit: '2500',
    },
  ],
};

const reads: Step[] = [
  read('getOverview', 'The last week', () => ({ query: { days: '7' } })),
  read('getStatus', 'One screen'),
  read('listRails', 'The simulated network'),
  read('showSending', 'Nothing is stopped'),
  read('listAccounts', 'The first one'),
  read('listBookings', 'None yet', (known) => ({ params: account(known) })),
  read('listSuspense', 'Nothing is open'),
  read('listCredentials', 'The first one', (known) => ({ params: account(known) })),
  read('listExceptions', 'Open ones', () => ({ query: { limit: '1' } })),
  read('listUnfinishedPayouts', 'The oldest', () => ({ query: { limit: '1' } })),
  read('explainPayoutToOperator', 'A payout that arrived', (known) => ({ params: payout(known) })),
  read('getPayoutMargin', 'Of a payout that arrived', (known) => ({ params: payout(known) })),
  read('listIdentities', 'Those that wait'),
  read('getIdentity', 'A recipient', (known) => ({ params: user(known) })),
  read('listScreenings', 'Not screened in a sandbox without lists', (known) => ({
    query: user(known),
  })),
  read('listWaitingScreenings', 'None in a sandbox without lists'),
  read('listClearances', 'None in a sandbox without lists'),
  read('listExchangeRates', 'The first one'),
  read('listTariffs', 'Bank deposits in Mexico', () => ({
    query: { country: 'MEX', delivery_type: 'BANK_DEPOSIT' },
  })),
  read('listPolicies', 'The first one'),
  read('showRecovery', 'None is open'),
  read('listUnreconciled', 'Nothing to reconcile', () => ({ params: { rail: 'sandbox' } })),
  read('reportMonth', 'A month without payouts', () => ({ query: { month: '2026-01' } })),
];

const scheduled = 'payout_token that an operator cancels';

const cases: Step[] = [
  change('viewScreeningEvidence', 'Of a recipient without hits', (known) => ({
    body: { ...user(known), reason: 'Complaint 12' },
  })),
  change('viewIdentityImages', 'Of a recipient, shortened', (known) => ({
    params: user(known),
    body: { reason: 'Complaint 12' },
  })),
  {
    operationId: 'createPayout',
    summary: 'One that an operator cancels',
    isHidden: true,
    request: (known) => ({
      params: userOf(known),
      body: {
        client_transfer_id: 'invoice-MXN-2061',
        destination_token: known['bank_token'],
        destination_currency_code: 'MXN',
        destination_amount: 1500,
        max_source_amount: 120,
        scheduled_for: laterDay,
        notify_user: false,
      },
    }),
    keep: (body) => ({ [scheduled]: readText(body, 'payout_token') }),
  },
  {
    operationId: 'commitPayout',
    summary: 'One that an operator cancels',
    isHidden: true,
    request: (known) => ({ params: payoutOf(known, scheduled) }),
  },
  change('viewScreeningOpinions', 'Where no service is asked', (known) => ({
    body: { payout: known[scheduled] ?? '', reason: 'Complaint 12' },
  })),
  {
    ...change('placeLegalHold', 'A case in court', (known) => ({
      params: user(known),
      body: { until: holdEnd, reason: 'Case 4711' },
    })),
    keep: (body) => ({ hold: readText(body, 'outcome', 'hold') }),
  },
  read('listLegalHolds', 'The one'),
  change('releaseLegalHold', 'The case is closed', (known) => ({
    params: { hold: known['hold'] ?? '' },
    body: { reason: 'Case 4711 closed' },
  })),
  {
    operationId: 'createUser',
    summary: 'One whom an operator erases',
    isHidden: true,
    request: () => ({
      body: {
        internal_user_id: 'customer-2078',
        country: 'MEX',
        first_name: 'Iris',
        last_name: 'Campos',
        email: 'iris.campos@example.com',
      },
    }),
    keep: (body) => ({ 'erased user_token': readText(body, 'user_token') }),
  },
  change('eraseRecipient', 'A request by letter', (known) => ({
    params: { user: known['erased user_token'] ?? '' },
    body: { reason: 'Letter of 20 November' },
  })),
  change('cancelPayoutAsOperator', 'Before it runs', (known) => ({
    params: { payout: known[scheduled] ?? '' },
    body: { reason: 'The client asked by telephone' },
  })),
];

const reason = 'Drill of 22 November';

const controls: Step[] = [
  change('stopSending', 'At once', () => ({ body: { reason } })),
  change('resumeSending', 'After the drill', () => ({ body: { reason } })),
  change('drainSending', 'Before an upgrade', () => ({ body: { reason } })),
  change('undrainSending', 'After the upgrade', () => ({ body: { reason } })),
  change('freezeCorridor', 'Bank deposits in Mexico', () => ({
    body: { country: 'MEX', delivery_type: 'BANK_DEPOSIT', reason },
  })),
  {
    ...change('freezeRail', 'One rail', () => ({ body: { rail: 'sandbox', reason } })),
    keep: (body) => ({ freeze: readText(body, 'outcome', 'freeze', 'id') }),
  },
  read('listFreezes', 'In force'),
  change('liftFreeze', 'It pays again', (known) => ({
    params: { freeze: known['freeze'] ?? '' },
    body: { reason },
  })),
  change('freezeRecipient', 'A recipient', (known) => ({ body: { ...user(known), reason } })),
  {
    ...change('viewInboundMessage', 'One that has not arrived', () => ({
      params: { rail: 'bank_us' },
      body: { id: 'ACH-20261120-1.ret', reason: 'Inquiry of the bank' },
    })),
    status: 404,
  },
  change('importBankStatement', 'A day in CSV', () => ({
    params: { rail: 'sandbox' },
    body: {
      content: Buffer.from(
        'booking_date,amount,currency,bank_reference\n2026-11-20,-12.50,USD,B-2041\n',
      ).toString('base64'),
      reason: 'Statement of 20 November',
    },
  })),
  change('closeExceptions', 'All of a kind', () => ({
    body: { kind: 'unmatched', rail: 'sandbox', reason: 'Duplicates of a test file' },
  })),
];

const newAccount = (known: Known) => ({ account: known['new account'] ?? '' });
const wire = { currency: 'USD', amount: '250.00', reference: 'wire 2041', reason: 'Wire of today' };

const accounts: Step[] = [
  {
    ...change('createClientAccount', 'A client', () => ({ body: { name: 'Corner Shop' } })),
    keep: (body) => ({ 'new account': readText(body, 'outcome', 'account') }),
  },
  change('changeAccount', 'Its name on receipts', (known) => ({
    params: newAccount(known),
    body: { display_name: 'Corner Shop', color: '#0b6b4f' },
  })),
  change('fundAccount', 'A wire', (known) => ({ params: newAccount(known), body: wire })),
  {
    ...change('adjustAccount', 'It waits for a second operator', (known) => ({
      params: newAccount(known),
      body: { ...wire, amount: '-50.00', reference: 'case 7', reason: 'Booked twice' },
    })),
    keep: (body) => ({ adjustment: readText(body, 'approval') }),
  },
  change('setLimit', 'At most 5,000 USD a day', (known) => ({
    params: { ...newAccount(known), name: 'daily' },
    body: { per: 'account', usd: '5000.00', reason: 'Contract' },
  })),
  read('listLimits', 'The one', (known) => ({ params: newAccount(known) })),
  change('removeLimit', 'No longer needed', (known) => ({
    params: { ...newAccount(known), name: 'daily' },
    body: { reason: 'Contract' },
  })),
  {
    ...change('createCredential', 'For a shop', (known) => ({
      params: newAccount(known),
      body: { kind: 'api_key', scopes: 'payouts:propose payouts:read', reason: 'Assistant' },
    })),
    keep: (body) => ({ credential: readText(body, 'outcome', 'credential_id') }),
  },
  change('setCredentialBudget', 'Up to 250 USD each', (known) => ({
    params: { ...newAccount(known), credential: known['credential'] ?? '' },
    body: { currency: 'USD', per_proposal: '250.00', open: '3', reason: 'Contract' },
  })),
  change('rotateCredential', 'The old secret stays valid for two hours', (known) => ({
    params: { ...newAccount(known), credential: known['credential'] ?? '' },
    body: { overlap: '2h', reason: 'Yearly' },
  })),
  change('revokeCredential', 'At once', (known) => ({
    params: { ...newAccount(known), credential: known['credential'] ?? '' },
    body: { reason: 'Lost' },
  })),
  change('storeSender', 'A company with a legal entity identifier', (known) => ({
    params: newAccount(known),
    body: {
      legal_name: 'Muster Marktplatz GmbH',
      address1: 'Beispielweg 7',
      city: 'Bonn',
      postal_code: '53111',
      country: 'DEU',
      registration_type: 'LEIX',
      registration: '529900T8BM49AURSDO55',
      reason: 'Register extract',
    },
  })),
  change('clearSuspense', 'It waits for a second operator', (known) => ({
    params: payout(known),
    body: {
      currency: 'MXN',
      amount: '-5.00',
      reference: 'case 9',
      reason: 'Sent back to the bank',
    },
  })),
  read('findSender', 'As it was stored', (known) => ({ params: newAccount(known) })),
  change('freezeAccount', 'A client', (known) => ({ body: { ...newAccount(known), reason } })),
];

const persons: Step[] = [
  {
    ...change('createOperator', 'An approver', () => ({
      body: { name: 'bob', role: 'owner', reason: 'Joined' },
    })),
    keep: (body) => ({ second_key: readText(body, 'outcome', 'key') }),
  },
  read('listOperators', 'The first one'),
  read('listApprovals', 'The adjustment'),
  {
    ...change('approve', 'The second operator', (known) => ({
      params: { approval: known['adjustment'] ?? '' },
      body: { reason: 'Seen in the statement' },
    })),
    credential: 'second_operator',
  },
  {
    ...change('adjustAccount', 'One to be withdrawn', (known) => ({
      params: newAccount(known),
      body: { ...wire, reference: 'case 8' },
    })),
    isHidden: true,
    keep: (body) => ({ adjustment: readText(body, 'approval') }),
  },
  change('withdrawApproval', 'A mistake', (known) => ({
    params: { approval: known['adjustment'] ?? '' },
    body: { reason: 'Wrong account' },
  })),
  change('previewApprovalPolicy', 'Before it is set', (known) => ({
    body: { ...account(known), policy, days: '30' },
  })),
  change('setApprovalPolicy', 'Large payouts need two people', (known) => ({
    body: { ...account(known), policy, reason },
  })),
  read('listApprovalPolicies', 'Of an account', (known) => ({ query: account(known) })),
  change('backtestRouting', 'A lower fee and limit for bank deposits in Mexico', (known) => ({
    body: { ...account(known), changes, days: '30' },
  })),
  change('setPolicy', 'Two people from just above 5,000 USD', () => ({
    params: { action: 'funding' },
    body: { persons: '2', above_usd: '5000', reason: 'Audit finding 12' },
  })),
  change('inviteOperator', 'To the console', () => ({
    params: { name: 'bob' },
    body: { reason: 'First login' },
  })),
  {
    ...change('renewOperatorKey', 'Your own', () => ({ body: {} })),
    credential: 'second_operator',
  },
  change('revokeOperator', 'At once', () => ({
    params: { name: 'bob' },
    body: { reason: 'Left' },
  })),
  read('listAuditEntries', 'The newest', () => ({ query: { limit: '1' } })),
  {
    ...read('listAuditEntries', 'With the credential of a client'),
    credential: 'reviewer',
    status: 403,
    isWrong: true,
  },
];

export const operatorSteps = { reads, cases, controls, accounts, persons };
