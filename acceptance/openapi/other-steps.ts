import { type Known, payoutOf, readAttribute, readText, type Step, userOf } from './steps.ts';

/** What comes after the money steps: statuses, lists, identity checks, the sandbox, operations. */

const bankPayout = (known: Known) => payoutOf(known, 'a bank account payout_token');

const statuses: Step[] = [
  {
    operationId: 'moveSandboxClock',
    summary: 'A minute later',
    request: () => ({ body: { advance_s: 60 } }),
  },
  {
    operationId: 'getPayout',
    summary: 'Under way',
    request: (known) => ({
      params: bankPayout(known),
      query: { include_payer_logo: 'false', force_status_update: 'false' },
    }),
  },
  {
    operationId: 'getPayout',
    summary: 'The receipt itself',
    isHidden: true,
    request: (known) => ({
      params: bankPayout(known),
      headers: { accept: 'application/pdf' },
    }),
  },
  {
    operationId: 'exportPayout',
    summary: 'Status and receipt, shortened',
    request: (known) => ({ params: bankPayout(known) }),
  },
  {
    operationId: 'getPayoutProof',
    summary: 'Its journals and events, shortened',
    request: (known) => ({ params: bankPayout(known) }),
  },
  {
    operationId: 'listReceiptKeys',
    summary: 'The present key',
    credential: 'none',
    request: () => ({}),
  },
  {
    operationId: 'explainPayout',
    summary: 'One candidate, one attempt',
    request: (known) => ({ params: bankPayout(known) }),
  },
  {
    operationId: 'scriptSandboxPayout',
    summary: 'Let it arrive',
    request: (known) => ({
      params: { payout_token: known['a bank account payout_token'] ?? '' },
      body: { outcome: 'completed' },
    }),
  },
  {
    operationId: 'scriptSandboxPayout',
    summary: 'Out of order',
    status: 409,
    request: (known) => ({
      params: { payout_token: known['a bank account payout_token'] ?? '' },
      body: { outcome: 'rejected' },
    }),
  },
  {
    operationId: 'listPayouts',
    summary: 'Found by your own identifier',
    request: () => ({ query: { client_transfer_id: 'invoice-MXN-2041' } }),
  },
  {
    operationId: 'listPayouts',
    summary: 'A parameter that the operation does not take',
    status: 400,
    isWrong: true,
    request: () => ({ query: { client_transfr_id: 'invoice-MXN-2041' } }),
  },
  {
    operationId: 'listUserPayouts',
    summary: 'Found by metadata',
    request: (known) => ({
      params: userOf(known),
      query: { 'metadata[invoice]': 'MXN-2041' },
    }),
  },
  {
    operationId: 'listUserHistory',
    summary: 'The latest',
    itemsMax: 1,
    request: (known) => ({ params: userOf(known), query: { number_of_records: '10' } }),
  },
  {
    operationId: 'listHistory',
    summary: 'A page of one',
    request: () => ({ query: { number_of_records: '1' } }),
  },
  {
    operationId: 'listBalanceEntries',
    summary: 'The latest',
    itemsMax: 2,
    request: (known) => ({
      params: { balance_token: known['balance_token'] ?? '' },
      query: { number_of_records: '10' },
    }),
  },
  {
    operationId: 'getStatement',
    summary: 'A month without entries',
    request: (known) => ({
      params: { balance_token: known['balance_token'] ?? '' },
      query: { month: '2026-01' },
    }),
  },
  {
    operationId: 'listEvents',
    summary: 'From the beginning',
    itemsMax: 2,
    request: () => ({ query: { after: '4' } }),
  },
];

/** PNG images of one color, 24 by 16: the intake decodes them, and only a person would mind. */
const beforeColor = 'iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAMAAAA7+k+nAAAAA1BMVE';
const afterColor =
  'AAAACXBIWXMAAAPoAAAD6AG1e1JrAAAADklEQVQY02NgGAWDCQAAAZAAAcWb20kAAAAASUVORK5CYII=';

export const images = [
  { type: 'face', content: `${beforeColor}XMmWY7nafA${afterColor}` },
  { type: 'document-front', content: `${beforeColor}UzZpk7I4HS${afterColor}` },
  { type: 'document-back', content: `${beforeColor}VmmTP0c9oN${afterColor}` },
];

const cash = (known: Known) => ({
  ...userOf(known),
  destination_token: known['cash_token'] ?? '',
  currency: 'MXN',
});

const verification: Step[] = [
  {
    operationId: 'createPayout',
    summary: 'Cash that needs an identity check',
    request: (known) => ({
      params: userOf(known),
      body: {
        client_transfer_id: 'invoice-cash-2042',
        destination_token: known['cash_token'],
        destination_currency_code: 'MXN',
        source_amount: 1500,
      },
    }),
    keep: (body) => ({ 'cash payout_token': readText(body, 'payout_token') }),
  },
  {
    operationId: 'commitPayout',
    summary: 'More attributes are required',
    request: (known) => ({ params: payoutOf(known, 'cash payout_token') }),
  },
  {
    operationId: 'getReadiness',
    summary: 'Obstacles',
    request: (known) => ({
      params: userOf(known),
      query: {
        destination_token: cash(known).destination_token,
        currency: cash(known).currency,
        amount: '30000',
      },
    }),
  },
  {
    operationId: 'readAttributes',
    summary: 'An identity check among them',
    request: (known) => ({ params: cash(known) }),
    keep: (body) => ({
      link_token: readAttribute(body, 'IDSelfieCollection', 'value').split('/').pop() ?? '',
    }),
  },
  {
    operationId: 'getVerificationLinkStatus',
    summary: 'Waiting for images',
    credential: 'none',
    request: (known) => ({ params: { token: known['link_token'] ?? '' } }),
  },
  {
    operationId: 'showVerificationPage',
    summary: 'The page',
    credential: 'none',
    isHidden: true,
    request: (known) => ({
      params: { token: known['link_token'] ?? '' },
      headers: { accept: 'text/html' },
    }),
  },
  {
    operationId: 'uploadImagesByLink',
    summary: 'Three images',
    credential: 'none',
    request: (known) => ({ params: { token: known['link_token'] ?? '' }, body: images }),
  },
  {
    operationId: 'decideSandboxVerification',
    summary: 'Decline',
    request: (known) => ({ params: userOf(known), body: { decision: 'declined' } }),
  },
  {
    operationId: 'uploadIdImages',
    summary: 'Three images',
    request: (known) => ({ params: userOf(known), body: images }),
  },
  {
    operationId: 'listPendingIdentities',
    summary: 'One to decide about',
    credential: 'reviewer',
    request: () => ({}),
    keep: (body) => ({ session_id: readText(body, 0, 'session_id') }),
  },
  {
    operationId: 'listIdentityFindings',
    summary: 'A document that is not read yet',
    credential: 'reviewer',
    isSettled: ({ text }) => !text.includes('"waiting"'),
    request: (known) => ({ params: userOf(known) }),
  },
  {
    operationId: 'decideIdentity',
    summary: 'Ask for other images',
    credential: 'reviewer',
    request: (known) => ({
      params: userOf(known),
      body: {
        session_id: known['session_id'],
        submission: 2,
        decision: 'resubmission_requested',
        decided_by: 'Ada Reviewer',
        reason: 'The front of the document is blurred.',
      },
    }),
  },
  {
    operationId: 'decideSandboxVerification',
    summary: 'Approve',
    request: (known) => ({ params: userOf(known), body: { decision: 'approved' } }),
  },
  {
    operationId: 'listVerificationSessions',
    summary: 'One declined, one approved',
    request: (known) => ({ params: userOf(known) }),
  },
];

const sandbox: Step[] = [
  {
    operationId: 'createSandboxAccount',
    summary: 'Another account',
    request: () => ({ body: { name: 'Second shop' } }),
  },
  {
    operationId: 'fundSandboxBalance',
    summary: 'Yen',
    request: () => ({ body: { currency_code: 'JPY', amount: 250000 } }),
  },
  { operationId: 'readSandboxClock', summary: 'Now', request: () => ({}) },
  {
    operationId: 'moveSandboxClock',
    summary: 'Backwards',
    status: 409,
    request: () => ({ body: { to: '2020-01-01T00:00:00Z' } }),
  },
];

const operations: Step[] = (
  [
    ['checkLiveness', {}],
    ['checkReadiness', {}],
    ['readMetrics', undefined],
    ['readDescription', undefined],
    ['showReference', undefined],
    ['showProblem', undefined],
  ] as const
).map(([operationId, shown]) => ({
  operationId,
  summary: 'Running',
  credential: 'none',
  ...(shown === undefined ? { isHidden: true } : {}),
  request: () => (operationId === 'showProblem' ? { params: { code: 'not_found' } } : {}),
}));

export const statusSteps: Step[] = statuses;
export const verificationSteps: Step[] = [...verification, ...sandbox, ...operations];
