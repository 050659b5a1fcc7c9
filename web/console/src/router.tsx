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
import { heads } from './shell/heads.ts';
import { Shell } from './shell/shell.tsx';
import { ProblemNotice } from './ui/notice.tsx';
import { Empty, PageHead } from './ui/parts.tsx';

/** Every page is loaded when it is first opened, so that the first screen stays small. */
const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const routes = [
  createRoute({
    getParentRoute: () => root,
    path: heads.overview.path,
    component: lazyRouteComponent(() => import('./pages/overview.tsx'), 'Overview'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.payouts.path,
    validateSearch: readPayoutSearch,
    component: lazyRouteComponent(() => import('./pages/payouts.tsx'), 'Payouts'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.payout.path,
    component: lazyRouteComponent(() => import('./pages/payout.tsx'), 'PayoutPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads['new-payout'].path,
    component: lazyRouteComponent(() => import('./pages/new-payout.tsx'), 'NewPayout'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.recipients.path,
    validateSearch: readRecipientSearch,
    component: lazyRouteComponent(() => import('./pages/recipients.tsx'), 'Recipients'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.recipient.path,
    component: lazyRouteComponent(() => import('./pages/recipient.tsx'), 'Recipient'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.batches.path,
    component: lazyRouteComponent(() => import('./pages/batches.tsx'), 'Batches'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.batch.path,
    component: lazyRouteComponent(() => import('./pages/batch.tsx'), 'BatchPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.webhooks.path,
    component: lazyRouteComponent(() => import('./pages/webhooks.tsx'), 'Webhooks'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.exceptions.path,
    component: lazyRouteComponent(() => import('./pages/exceptions.tsx'), 'Exceptions'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.approvals.path,
    component: lazyRouteComponent(() => import('./pages/approvals.tsx'), 'Approvals'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.rules.path,
    component: lazyRouteComponent(() => import('./pages/rules.tsx'), 'Rules'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.backtest.path,
    component: lazyRouteComponent(() => import('./pages/backtest.tsx'), 'Backtesting'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.rails.path,
    component: lazyRouteComponent(() => import('./pages/rails.tsx'), 'Rails'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.inbound.path,
    component: lazyRouteComponent(() => import('./pages/inbound.tsx'), 'Inbound'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.identities.path,
    component: lazyRouteComponent(() => import('./pages/identities.tsx'), 'Identities'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.identity.path,
    component: lazyRouteComponent(() => import('./pages/identity.tsx'), 'IdentityPage'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.screening.path,
    validateSearch: readScreeningSearch,
    component: lazyRouteComponent(() => import('./pages/screening.tsx'), 'Screening'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.statements.path,
    component: lazyRouteComponent(() => import('./pages/statements.tsx'), 'Statements'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.reconciliation.path,
    component: lazyRouteComponent(() => import('./pages/reconciliation.tsx'), 'Reconciliation'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.limits.path,
    component: lazyRouteComponent(() => import('./pages/limits.tsx'), 'Limits'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.prices.path,
    component: lazyRouteComponent(() => import('./pages/prices.tsx'), 'Prices'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.freezes.path,
    component: lazyRouteComponent(() => import('./pages/freezes.tsx'), 'Freezes'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.holds.path,
    component: lazyRouteComponent(() => import('./pages/holds.tsx'), 'Holds'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.policies.path,
    component: lazyRouteComponent(() => import('./pages/policies.tsx'), 'Policies'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.recovery.path,
    component: lazyRouteComponent(() => import('./pages/recovery.tsx'), 'Recoveries'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.operators.path,
    component: lazyRouteComponent(() => import('./pages/operators.tsx'), 'Operators'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads['api-keys'].path,
    component: lazyRouteComponent(() => import('./pages/api-keys.tsx'), 'ApiKeys'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.audit.path,
    component: lazyRouteComponent(() => import('./pages/audit.tsx'), 'Audit'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.security.path,
    component: lazyRouteComponent(() => import('./pages/security.tsx'), 'Security'),
  }),
  createRoute({
    getParentRoute: () => root,
    path: heads.sandbox.path,
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
