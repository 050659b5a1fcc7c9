import type { IconName } from '../ui/icon.tsx';

/** Where one can go: the navigation and the command palette show the same list. */
export type Section = { to: string; label: string; icon: IconName; keywords: string };

type Group = { title: string; sections: readonly Section[] };

export const groups: readonly Group[] = [
  {
    title: 'Money',
    sections: [
      { to: '/', label: 'Overview', icon: 'overview', keywords: 'home dashboard balances' },
      { to: '/payouts', label: 'Payouts', icon: 'payout', keywords: 'list transfers search' },
      { to: '/pay', label: 'New payout', icon: 'plus', keywords: 'send create quote pay' },
      { to: '/batches', label: 'Batches', icon: 'batch', keywords: 'csv upload many' },
      { to: '/recipients', label: 'Recipients', icon: 'recipients', keywords: 'users people' },
      {
        to: '/statements',
        label: 'Statements',
        icon: 'statement',
        keywords: 'balance camt pdf csv entries',
      },
    ],
  },
  {
    title: 'Decide',
    sections: [
      { to: '/exceptions', label: 'Exceptions', icon: 'alert', keywords: 'holds decide errors' },
      {
        to: '/approvals',
        label: 'Approvals',
        icon: 'approve',
        keywords: 'second operator four eyes',
      },
      {
        to: '/rules',
        label: 'Approval rules',
        icon: 'rule',
        keywords: 'policy hold release approvers conditions',
      },
      {
        to: '/identities',
        label: 'Identities',
        icon: 'identity',
        keywords: 'kyc verification images documents',
      },
      {
        to: '/screening',
        label: 'Screening',
        icon: 'shield',
        keywords: 'sanctions hits ofac un evidence',
      },
      {
        to: '/suspense',
        label: 'Suspense',
        icon: 'scales',
        keywords: 'excess written off loss unattributed clear',
      },
      {
        to: '/holds',
        label: 'Legal holds',
        icon: 'hold',
        keywords: 'keep data erasure retention gdpr',
      },
      {
        to: '/inbound',
        label: 'Bank inputs',
        icon: 'inbox',
        keywords: 'unmatched unreadable refused messages files inbound',
      },
    ],
  },
  {
    title: 'Operate',
    sections: [
      {
        to: '/rails',
        label: 'Rails',
        icon: 'rail',
        keywords: 'health funds prefunding scorecards',
      },
      {
        to: '/freezes',
        label: 'Stops and freezes',
        icon: 'pause',
        keywords: 'stop sending freeze account recipient corridor rail switch',
      },
      { to: '/limits', label: 'Limits', icon: 'limit', keywords: 'velocity maximum' },
      {
        to: '/prices',
        label: 'Fees and rates',
        icon: 'price',
        keywords: 'tariffs margin exchange fx',
      },
      {
        to: '/backtest',
        label: 'Routing back-test',
        icon: 'backtest',
        keywords: 'replay what if fees margin routes payers compare',
      },
      {
        to: '/reconciliation',
        label: 'Reconciliation',
        icon: 'match',
        keywords: 'bank statement camt settlements match',
      },
      { to: '/audit', label: 'Audit log', icon: 'audit', keywords: 'history who operators' },
      {
        to: '/operators',
        label: 'Operators',
        icon: 'operators',
        keywords: 'people invite roles revoke',
      },
      {
        to: '/policies',
        label: 'Policies',
        icon: 'approve',
        keywords: 'two operators four eyes maker checker persons',
      },
      {
        to: '/recovery',
        label: 'Recovery',
        icon: 'recovery',
        keywords: 'restore backup release unmatched payments',
      },
    ],
  },
  {
    title: 'Build',
    sections: [
      {
        to: '/api-keys',
        label: 'API keys',
        icon: 'key',
        keywords: 'credentials secrets rotate revoke budget',
      },
      {
        to: '/webhooks',
        label: 'Webhooks',
        icon: 'webhook',
        keywords: 'deliveries events endpoint',
      },
    ],
  },
];

export const sandboxSection: Section = {
  to: '/sandbox',
  label: 'Sandbox',
  icon: 'flask',
  keywords: 'clock fund outcome test',
};
