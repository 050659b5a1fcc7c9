import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Link,
  lazyRouteComponent as lazy,
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

function page<const Path extends string>(path: Path, component: ReturnType<typeof lazy>) {
  return createRoute({ getParentRoute: () => root, path, component });
}

const routes = [
  page(
    heads.overview.path,
    lazy(() => import('./pages/overview.tsx'), 'Overview'),
  ),
  createRoute({
    getParentRoute: () => root,
    path: heads.payouts.path,
    validateSearch: readPayoutSearch,
    component: lazy(() => import('./pages/payouts.tsx'), 'Payouts'),
  }),
  page(
    heads.payout.path,
    lazy(() => import('./pages/payout.tsx'), 'PayoutPage'),
  ),
  page(
    heads['new-payout'].path,
    lazy(() => import('./pages/new-payout.tsx'), 'NewPayout'),
  ),
  createRoute({
    getParentRoute: () => root,
    path: heads.recipients.path,
    validateSearch: readRecipientSearch,
    component: lazy(() => import('./pages/recipients.tsx'), 'Recipients'),
  }),
  page(
    heads.recipient.path,
    lazy(() => import('./pages/recipient.tsx'), 'Recipient'),
  ),
  page(
    heads.batches.path,
    lazy(() => import('./pages/batches.tsx'), 'Batches'),
  ),
  page(
    heads.batch.path,
    lazy(() => import('./pages/batch.tsx'), 'BatchPage'),
  ),
  page(
    heads.webhooks.path,
    lazy(() => import('./pages/webhooks.tsx'), 'Webhooks'),
  ),
  page(
    heads.exceptions.path,
    lazy(() => import('./pages/exceptions.tsx'), 'Exceptions'),
  ),
  page(
    heads.approvals.path,
    lazy(() => import('./pages/approvals.tsx'), 'Approvals'),
  ),
  page(
    heads.rules.path,
    lazy(() => import('./pages/rules.tsx'), 'Rules'),
  ),
  page(
    heads.backtest.path,
    lazy(() => import('./pages/backtest.tsx'), 'Backtesting'),
  ),
  page(
    heads.rails.path,
    lazy(() => import('./pages/rails.tsx'), 'Rails'),
  ),
  page(
    heads.inbound.path,
    lazy(() => import('./pages/inbound.tsx'), 'Inbound'),
  ),
  page(
    heads.identities.path,
    lazy(() => import('./pages/identities.tsx'), 'Identities'),
  ),
  page(
    heads.identity.path,
    lazy(() => import('./pages/identity.tsx'), 'IdentityPage'),
  ),
  createRoute({
    getParentRoute: () => root,
    path: heads.screening.path,
    validateSearch: readScreeningSearch,
    component: lazy(() => import('./pages/screening.tsx'), 'Screening'),
  }),
  page(
    heads.statements.path,
    lazy(() => import('./pages/statements.tsx'), 'Statements'),
  ),
  page(
    heads.reconciliation.path,
    lazy(() => import('./pages/reconciliation.tsx'), 'Reconciliation'),
  ),
  page(
    heads.suspense.path,
    lazy(() => import('./pages/suspense.tsx'), 'Suspense'),
  ),
  page(
    heads.limits.path,
    lazy(() => import('./pages/limits.tsx'), 'Limits'),
  ),
  page(
    heads.prices.path,
    lazy(() => import('./pages/prices.tsx'), 'Prices'),
  ),
  page(
    heads.freezes.path,
    lazy(() => import('./pages/freezes.tsx'), 'Freezes'),
  ),
  page(
    heads.holds.path,
    lazy(() => import('./pages/holds.tsx'), 'Holds'),
  ),
  page(
    heads.policies.path,
    lazy(() => import('./pages/policies.tsx'), 'Policies'),
  ),
  page(
    heads.recovery.path,
    lazy(() => import('./pages/recovery.tsx'), 'Recoveries'),
  ),
  page(
    heads.operators.path,
    lazy(() => import('./pages/operators.tsx'), 'Operators'),
  ),
  page(
    heads['api-keys'].path,
    lazy(() => import('./pages/api-keys.tsx'), 'ApiKeys'),
  ),
  page(
    heads.audit.path,
    lazy(() => import('./pages/audit.tsx'), 'Audit'),
  ),
  page(
    heads.security.path,
    lazy(() => import('./pages/security.tsx'), 'Security'),
  ),
  page(
    heads.sandbox.path,
    lazy(() => import('./pages/sandbox.tsx'), 'Sandbox'),
  ),
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
