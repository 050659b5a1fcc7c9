import { JsonNumber } from '../../core/exact-json.ts';
import type { CallContext } from '../contract/contract.ts';
import { type BatchGroup, batchGroupSchema, groupFundingSchema } from './protocol.ts';
import type { Setup } from './setup.ts';

/** The calls of batch groups; undefined and false: no answer that can be relied on. */

type Calls = Pick<Setup, 'api' | 'config' | 'host'>;

/** Wise gives each request a new group: only one whose answer is recorded gets transfers. */
export async function createGroup(
  { api, config: { profileId, sourceCurrency }, host }: Calls,
  key: string,
  context: CallContext,
): Promise<BatchGroup | undefined> {
  const path = `/v3/profiles/${profileId}/batch-groups`;
  const body = { sourceCurrency, name: `Outlay ${key}` };
  const answer = await api({ method: 'POST', path, body }, batchGroupSchema, context);
  if (answer.kind === 'answered' && answer.value.transferIds.length === 0) return answer.value;
  host.log('warn', 'Wise has not created a batch group', { reference: key });
  return undefined;
}

export async function readGroup(
  { api, config }: Calls,
  groupId: string,
  context: CallContext,
): Promise<BatchGroup | undefined> {
  const path = `/v3/profiles/${config.profileId}/batch-groups/${groupId}`;
  const answer = await api({ method: 'GET', path }, batchGroupSchema, context);
  return answer.kind === 'answered' && answer.value.id === groupId ? answer.value : undefined;
}

/** Whether it is completed with the transfers that `group` has: Wise compares its version. */
export async function completeGroup(
  setup: Calls,
  group: BatchGroup,
  context: CallContext,
): Promise<boolean> {
  const completed = await changeStatus(setup, { group, status: 'COMPLETED' }, context);
  return (
    completed?.status === 'COMPLETED' &&
    completed.transferIds.toSorted().join() === group.transferIds.toSorted().join()
  );
}

export function cancelGroup(
  setup: Calls,
  group: BatchGroup,
  context: CallContext,
): Promise<BatchGroup | undefined> {
  return changeStatus(setup, { group, status: 'CANCELLED' }, context);
}

async function changeStatus(
  { api, config, host }: Calls,
  { group, status }: { readonly group: BatchGroup; readonly status: 'COMPLETED' | 'CANCELLED' },
  context: CallContext,
): Promise<BatchGroup | undefined> {
  const path = `/v3/profiles/${config.profileId}/batch-groups/${group.id}`;
  const body = { status, version: new JsonNumber(group.version) };
  const answer = await api({ method: 'PATCH', path, body }, batchGroupSchema, context);
  if (answer.kind === 'answered' && answer.value.id === group.id) return answer.value;
  host.log('warn', 'Wise has not changed a batch group', { group: group.id, status });
  return undefined;
}

/** Whether Wise says that it has funded the group. */
export async function askFunding(
  { api, config, host }: Calls,
  groupId: string,
  context: CallContext,
): Promise<boolean> {
  const answer = await api(
    {
      method: 'POST',
      path: `/v3/profiles/${config.profileId}/batch-payments/${groupId}/payments`,
      body: { type: 'BALANCE' },
      isApproved: true,
    },
    groupFundingSchema,
    context,
  );
  const isDone =
    answer.kind === 'answered' &&
    answer.value.id === groupId &&
    answer.value.status === 'COMPLETED';
  if (!isDone) {
    const code = answer.kind === 'refused' ? answer.code.slice(0, 100) : answer.kind;
    host.log('warn', 'Wise has not confirmed the funding of a batch group', { groupId, code });
  }
  return isDone;
}
