import { protectedCredentials, protectedTokens } from '../accounts/credential-mac.ts';
import { protectedApprovalPolicies } from '../approvals/approval-policies.ts';
import { protectedEntries } from '../audit/audit.ts';
import { protectedInputs } from '../batches/erase-inputs.ts';
import { protectedBatches } from '../batches/receive.ts';
import { defineProtectedTable, type ProtectedTable, renewMac } from '../db/protected-tables.ts';
import { column, nullable } from '../db/rows.ts';
import { protectedObservations } from '../dispatch/observations.ts';
import { protectedReleases } from '../dispatch/recovery.ts';
import { protectedDecisions } from '../exceptions/decisions.ts';
import { protectedAnswers } from '../http/idempotency.ts';
import { protectedBookings } from '../ledger/bookings.ts';
import { protectedApprovals } from '../operators/approvals.ts';
import { protectedLinks, protectedLogins } from '../operators/logins.ts';
import { protectedOperators } from '../operators/operators.ts';
import { protectedPolicies } from '../operators/policies.ts';
import { protectedSessions } from '../operators/sessions.ts';
import { protectedRecords } from '../rails/host/host.ts';
import { protectedMessages } from '../rails/host/messages.ts';
import { protectedDeliveries, protectedSecrets } from '../webhooks/sending.ts';
import { describeKeyRow } from './environment-keys.ts';

const protectedKeys = defineProtectedTable({
  table: 'environment_keys',
  key: { generation: 'integer' },
  values: ['mac'],
  columns: {
    generation: column.integer,
    public_key: column.text,
    endorsement: column.bytes,
    announced_at: column.instant,
    active_at: column.instant,
    destroyed_at: nullable(column.instant),
  },
  renew: renewMac(describeKeyRow),
});

/**
 * All tables with rows that are sealed or authenticated under the keys of the environment. What decides
 * about money and access comes first. A test compares the list with the schema.
 */
export const protectedTables: readonly ProtectedTable[] = [
  protectedKeys,
  protectedOperators,
  protectedPolicies,
  protectedApprovals,
  protectedLogins,
  protectedSessions,
  protectedLinks,
  protectedApprovalPolicies,
  protectedDecisions,
  protectedReleases,
  protectedBookings,
  protectedObservations,
  protectedEntries,
  protectedCredentials,
  protectedTokens,
  protectedSecrets,
  protectedRecords,
  protectedMessages,
  protectedInputs,
  protectedBatches,
  protectedAnswers,
  protectedDeliveries,
];
