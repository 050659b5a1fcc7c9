import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Link,
  lazyRouteComponent,
} from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { readPayoutSearch } from './pages/payout-search.ts';
import { readRecipientSearch } from './pages/recipient-search.ts';
import { readScreeningSearch } from './pages/screening-search.ts';
import { Root } from './shell/root.tsx';
import { ProblemNotice } from './ui/notice.tsx';
import { Empty, PageHead } from './ui/parts.tsx';

/** Every page is loaded when it is first opened, so that the first screen stays small. */
const root = createRootRoute({ component: Root, notFoundComponent: NotFound });

const routes = [
  createRoute({
    getParentRoute: () => root,
    path: '/',
    component: lazyRouteComponent(() => import('./pages/overview.tsx'), 'Overview'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/payouts',
    validateSearch: readPayoutSearch,
    component: lazyRouteComponent(() => import('./pages/payouts.tsx'), 'Payouts'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/payouts/$user/$payout',
    component: lazyRouteComponent(() => import('./pages/payout.tsx'), 'PayoutPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/pay',
    component: lazyRouteComponent(() => import('./pages/new-payout.tsx'), 'NewPayout'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/recipients',
    validateSearch: readRecipientSearch,
    component: lazyRouteComponent(() => import('./pages/recipients.tsx'), 'Recipients'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/recipients/$user',
    component: lazyRouteComponent(() => import('./pages/recipient.tsx'), 'Recipient'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/batches',
    component: lazyRouteComponent(() => import('./pages/batches.tsx'), 'Batches'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/batches/$batch',
    component: lazyRouteComponent(() => import('./pages/batch.tsx'), 'BatchPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/webhooks',
    component: lazyRouteComponent(() => import('./pages/webhooks.tsx'), 'Webhooks'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/exceptions',
    component: lazyRouteComponent(() => import('./pages/exceptions.tsx'), 'Exceptions'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/approvals',
    component: lazyRouteComponent(() => import('./pages/approvals.tsx'), 'Approvals'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/rules',
    component: lazyRouteComponent(() => import('./pages/rules.tsx'), 'Rules'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/backtest',
    component: lazyRouteComponent(() => import('./pages/backtest.tsx'), 'Backtesting'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/rails',
    component: lazyRouteComponent(() => import('./pages/rails.tsx'), 'Rails'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/inbound',
    component: lazyRouteComponent(() => import('./pages/inbound.tsx'), 'Inbound'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/identities',
    component: lazyRouteComponent(() => import('./pages/identities.tsx'), 'Identities'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/identities/$user',
    component: lazyRouteComponent(() => import('./pages/identity.tsx'), 'IdentityPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/screening',
    validateSearch: readScreeningSearch,
    component: lazyRouteComponent(() => import('./pages/screening.tsx'), 'Screening'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/statements',
    component: lazyRouteComponent(() => import('./pages/statements.tsx'), 'Statements'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/reconciliation',
    component: lazyRouteComponent(() => import('./pages/reconciliation.tsx'), 'Reconciliation'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/limits',
    component: lazyRouteComponent(() => import('./pages/limits.tsx'), 'Limits'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/prices',
    component: lazyRouteComponent(() => import('./pages/prices.tsx'), 'Prices'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/freezes',
    component: lazyRouteComponent(() => import('./pages/freezes.tsx'), 'Freezes'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/holds',
    component: lazyRouteComponent(() => import('./pages/holds.tsx'), 'Holds'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/policies',
    component: lazyRouteComponent(() => import('./pages/policies.tsx'), 'Policies'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/recovery',
    component: lazyRouteComponent(() => import('./pages/recovery.tsx'), 'Recoveries'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/operators',
    component: lazyRouteComponent(() => import('./pages/operators.tsx'), 'Operators'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/api-keys',
    component: lazyRouteComponent(() => import('./pages/api-keys.tsx'), 'ApiKeys'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/audit',
    component: lazyRouteComponent(() => import('./pages/audit.tsx'), 'Audit'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/access',
    component: lazyRouteComponent(() => import('./pages/security.tsx'), 'Security'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/sandbox',
    component: lazyRouteComponent(() => import('./pages/sandbox.tsx'), 'Sandbox'),
  }),
];

function NotFound(): ReactNode {
  return (
    <>
      <PageHead title="Page not found" />
      <Empty
        icon="search"
        title="There is no such page"
        action={
          <Link to="/" className="button">
            Go to the overview
          </Link>
        }
      >
        The address may be old or mistyped. Press Ctrl K to search.
      </Empty>
    </>
  );
}

function Failed({ error, reset }: ErrorComponentProps): ReactNode {
  return <ProblemNotice error={error} retry={reset} />;
}

export function createConsoleRouter() {
  return createRouter({
    routeTree: root.addChildren(routes),
    basepath: '/console',
    defaultPreload: 'intent',
    defaultErrorComponent: Failed,
    scrollRestoration: true,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
