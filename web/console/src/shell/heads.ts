/** The days that the figures of the overview count. */
export const overviewDays = 30;

/** Rows of a page of the list of payouts. */
export const payoutsPerPage = 25;

/**
 * The pages by the names of their files in `pages/`: address, heading, and the line below it. The build
 * writes them into the first answer of the service too (`first-paint.ts`), so they are texts only.
 */
export const heads = {
  overview: {
    path: '/',
    title: 'Overview',
    lead: `Money, progress, and what needs a person. ${overviewDays} days`,
    reads: [`operator/overview?days=${overviewDays}&account=$account`],
  },
  payouts: {
    path: '/payouts',
    title: 'Payouts',
    lead: 'Every quote and payout of the account, the newest first',
    reads: [`payout?number_of_records=${payoutsPerPage}`],
  },
  payout: {
    path: '/payouts/$user/$payout',
    title: 'Payout',
    lead: 'What was paid, by which route and why: its states with their attempts, the payers that were compared, postings, events, the proof and the receipt',
    reads: [
      'payout/$user/$payout',
      'payout/$user/$payout/decision',
      'events?object=$payout',
      'user/$user',
    ],
  },
  'new-payout': {
    path: '/pay',
    title: 'New payout',
    lead: 'No money moves before you commit the quote',
  },
  recipients: { path: '/recipients', title: 'Recipients', lead: 'Who can be paid by this account' },
  recipient: { path: '/recipients/$user', title: 'Recipient' },
  batches: {
    path: '/batches',
    title: 'Batches',
    lead: 'Many payouts from one file, quoted and committed as a whole',
  },
  batch: { path: '/batches/$batch', title: 'Batch' },
  webhooks: {
    path: '/webhooks',
    title: 'Webhooks',
    lead: 'Events of this account, sent to your endpoints and signed',
  },
  exceptions: {
    path: '/exceptions',
    title: 'Exceptions',
    lead: 'What the service does not decide by itself, in all accounts',
  },
  approvals: { path: '/approvals', title: 'Approvals', lead: 'Who asks is never who approves' },
  rules: {
    path: '/rules',
    title: 'Approval rules',
    lead: 'Which payouts wait until operators release them',
  },
  backtest: {
    path: '/backtest',
    title: 'Routing back-test',
    lead: 'What other fees, limits or routes would have done. It changes nothing',
  },
  rails: {
    path: '/rails',
    title: 'Rails',
    lead: 'Health, work under way, funds and scorecards, by rail',
  },
  inbound: {
    path: '/inbound',
    title: 'Bank inputs',
    lead: 'What a rail reported that was refused, or that belongs to no payout',
  },
  identities: {
    path: '/identities',
    title: 'Identities',
    lead: 'Verifications that wait for a decision, in all accounts',
  },
  identity: { path: '/identities/$user', title: 'Identity' },
  screening: {
    path: '/screening',
    title: 'Screening',
    lead: 'Sanctions hits that wait for a decision, in all accounts',
  },
  statements: {
    path: '/statements',
    title: 'Statements',
    lead: 'What moved a balance, day by day, as it will always read',
  },
  reconciliation: {
    path: '/reconciliation',
    title: 'Reconciliation',
    lead: 'What the bank has and the ledger has not, and the other way round',
  },
  suspense: {
    path: '/suspense',
    title: 'Suspense',
    lead: 'Money whose owner is not known yet, by payout, in all accounts',
  },
  limits: {
    path: '/limits',
    title: 'Limits',
    lead: 'Of this account. A payout over one is held for a person',
  },
  prices: {
    path: '/prices',
    title: 'Fees and rates',
    lead: 'Tariffs of payers, and exchange rates with their age',
  },
  freezes: { path: '/freezes', title: 'Stops and freezes', lead: 'What is not sent, and why' },
  holds: {
    path: '/holds',
    title: 'Legal holds',
    lead: 'Recipients whose data is kept until a date',
  },
  policies: {
    path: '/policies',
    title: 'Policies',
    lead: 'What needs two operators, in all accounts',
  },
  recovery: {
    path: '/recovery',
    title: 'Recovery',
    lead: 'After the database was restored to an earlier moment',
  },
  operators: { path: '/operators', title: 'Operators', lead: 'Who may look, act and decide' },
  'api-keys': {
    path: '/api-keys',
    title: 'API keys',
    lead: 'What programs of this account sign in with',
  },
  audit: { path: '/audit', title: 'Audit log', lead: 'Who did what, from where and why' },
  security: { path: '/access', title: 'Your access' },
  sandbox: { path: '/sandbox', title: 'Sandbox', lead: 'Nothing here moves real money' },
} as const satisfies Readonly<Record<string, Head>>;

export type Head = {
  path: string;
  title: string;
  lead?: string;
  /**
   * What the page without a search asks the service first, behind the version, as its queries write it.
   * `$` before a name stands for that part of the path, and for the account.
   */
  reads?: readonly string[];
};
