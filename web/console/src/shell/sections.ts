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
    ],
  },
  {
    title: 'Operate',
    sections: [
      { to: '/exceptions', label: 'Exceptions', icon: 'alert', keywords: 'holds decide errors' },
      {
        to: '/approvals',
        label: 'Approvals',
        icon: 'approve',
        keywords: 'second operator four eyes',
      },
      { to: '/rails', label: 'Rails', icon: 'rail', keywords: 'stop sending freeze health funds' },
      { to: '/audit', label: 'Audit log', icon: 'audit', keywords: 'history who operators' },
    ],
  },
  {
    title: 'Build',
    sections: [
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
