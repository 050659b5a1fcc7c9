import { createHash } from 'node:crypto';
import { type AuditLog, appendClientAudit, describeClient } from '../audit/audit.ts';
import { formatToken } from '../core/ids.ts';
import type { EndpointRow } from './webhooks.sql.ts';
import { type EndpointContext, getEndpoint } from './webhooks.ts';

/** Entries of the audit log about endpoints: where a client's events go, and who signs them. */

type Change = 'create' | 'change' | 'rotate' | 'pause' | 'resume' | 'remove';

/** Without path and query of the URL, which may hold a secret; its hash tells whether they changed. */
function describe({ url, event_types: eventTypes, status, algorithm }: EndpointRow) {
  return {
    origin: new URL(url).origin,
    url_sha256: createHash('sha256').update(url).digest('hex'),
    event_types: eventTypes,
    status,
    signature: algorithm,
  };
}

/** Runs a change with its entry; a step that changes nothing has none. @throws AppError not_found. */
export async function auditChange<T>(
  context: Parameters<typeof describeClient>[0] & { readonly env: Pick<AuditLog, 'keys'> },
  place: EndpointContext,
  { change, run }: { change: Change; run: () => Promise<T> },
): Promise<T> {
  const before = change === 'create' ? undefined : describe(await getEndpoint(place));
  const result = await run();
  const after = change === 'remove' ? undefined : describe(await getEndpoint(place));
  const isStep = change === 'pause' || change === 'resume';
  if (isStep && before?.status === after?.status) return result;
  await appendClientAudit(
    { session: place.session, keys: context.env.keys },
    describeClient(context),
    {
      action: `webhook ${change}`,
      object: { webhook: formatToken('webhook', place.endpointId) },
      before,
      after,
    },
  );
  return result;
}
