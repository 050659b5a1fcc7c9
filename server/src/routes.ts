import { attributeRoutes } from './attributes/attributes.routes.ts';
import { batchRoutes } from './batches/batches.routes.ts';
import { destinationRoutes } from './destinations/destinations.routes.ts';
import type { Environment } from './environment/environment.ts';
import { erasureRoutes } from './erasure/erasure.routes.ts';
import { eventRoutes } from './events/events.routes.ts';
import { decisionRoutes } from './exceptions/decisions.routes.ts';
import type { Route } from './http/route.ts';
import { identityDecisionRoutes } from './kyc/decisions.routes.ts';
import { createKycRoutes } from './kyc/kyc.routes.ts';
import { ledgerRoutes } from './ledger/ledger.routes.ts';
import { operatorRoutes } from './operator-api/operator.routes.ts';
import { cancellationRoutes } from './payouts/cancellation.routes.ts';
import { payeeCheckRoutes } from './payouts/payee-check.routes.ts';
import { payoutListRoutes } from './payouts/payout-lists.routes.ts';
import { payoutProofRoutes } from './payouts/payout-proof.routes.ts';
import { payoutReadRoutes } from './payouts/payout-reads.routes.ts';
import { payoutRoutes } from './payouts/payouts.routes.ts';
import { readinessRoutes } from './payouts/readiness.routes.ts';
import { receiptLinkRoutes } from './payouts/receipt-link.routes.ts';
import { confirmationRoutes } from './proposals/confirmation.routes.ts';
import { proposalRoutes } from './proposals/proposals.routes.ts';
import { receiptKeyRoutes } from './receipts/receipt-key.routes.ts';
import { brandRoutes } from './recipient-pages/brand.routes.ts';
import { recipientLinkRoutes } from './recipient-pages/links.routes.ts';
import { logoRoutes } from './recipient-pages/logo.routes.ts';
import { recipientPageRoutes } from './recipient-pages/page.routes.ts';
import { sandboxRoutes } from './sandbox/sandbox.routes.ts';
import { statementRoutes } from './statements/statements.routes.ts';
import { userRoutes } from './users/users.routes.ts';
import { deliveryRoutes } from './webhooks/deliveries.routes.ts';
import { webhookRoutes } from './webhooks/webhooks.routes.ts';

/** All routes, as they are served and described. */
export function listRoutes(): Route<Environment>[] {
  return [
    ...ledgerRoutes(),
    ...statementRoutes(),
    ...userRoutes(),
    ...erasureRoutes(),
    ...createKycRoutes(),
    ...identityDecisionRoutes(),
    ...destinationRoutes(),
    ...attributeRoutes(),
    ...payoutRoutes(),
    ...payoutReadRoutes(),
    ...payoutProofRoutes(),
    ...cancellationRoutes(),
    ...payoutListRoutes(),
    ...proposalRoutes(),
    ...confirmationRoutes(),
    ...readinessRoutes(),
    ...payeeCheckRoutes(),
    ...receiptLinkRoutes(),
    ...receiptKeyRoutes(),
    ...brandRoutes(),
    ...recipientLinkRoutes(),
    ...recipientPageRoutes(),
    ...logoRoutes(),
    ...decisionRoutes(),
    ...batchRoutes(),
    ...eventRoutes(),
    ...webhookRoutes(),
    ...deliveryRoutes(),
    ...sandboxRoutes(),
    ...operatorRoutes(),
  ];
}
