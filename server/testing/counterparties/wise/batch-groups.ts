import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { JsonNumber } from '../../../src/core/exact-json.ts';
import { type BatchGroup, isServed, toNumber } from './books.ts';
import { type Handler, missing, ok, refuse } from './operation.ts';
import { orderTransfer } from './operations.ts';

/** Batch groups of the simulated Wise: up to 1000 transfers that are funded together, or not at all. */

function describeGroup({ id, version, name, sourceCurrency, status, transfers }: BatchGroup) {
  const total = transfers.reduce((sum, { quote }) => sum + quote.sourceMinor, 0n);
  const payIn = {
    type: 'bank_transfer',
    reference: 'B1234567',
    amount: toNumber(total, sourceCurrency),
    currency: sourceCurrency,
    name: 'Wise Europe SA',
  };
  return {
    id,
    version,
    name,
    sourceCurrency,
    status,
    transferIds: transfers.map((transfer) => new JsonNumber(transfer.id)),
    payInDetails: status === 'COMPLETED' ? [payIn] : [],
  };
}

const createGroup: Handler = ({ simulation, body }) => {
  const asked = z
    .object({ sourceCurrency: z.string(), name: z.string().min(1).max(100) })
    .safeParse(body);
  if (!asked.success || !isServed(asked.data.sourceCurrency)) return refuse(422, 'NOT_VALID');
  const group: BatchGroup = {
    id: randomUUID(),
    ...asked.data,
    transfers: [],
    version: 0,
    status: 'NEW',
  };
  simulation.books.groups.set(group.id, group);
  return ok(describeGroup(group), 201);
};

const readGroup: Handler = ({ simulation, params }) => {
  const group = simulation.books.groups.get(params[1] ?? '');
  return group === undefined ? missing : ok(describeGroup(group));
};

const groupSizeMax = 1000;

const addTransfer: Handler = ({ simulation, params, body }) => {
  const group = simulation.books.groups.get(params[1] ?? '');
  if (group === undefined) return missing;
  if (group.status !== 'NEW' || group.transfers.length >= groupSizeMax) {
    return refuse(409, 'batch.group.closed');
  }
  const before = group.transfers.length;
  const answer = orderTransfer(simulation, body, group);
  if (group.transfers.length > before) group.version += 1;
  return answer;
};

const changeGroup: Handler = ({ simulation, params, body }) => {
  const group = simulation.books.groups.get(params[1] ?? '');
  const asked = z
    .object({ status: z.enum(['COMPLETED', 'CANCELLED']), version: z.int() })
    .safeParse(body);
  if (group === undefined) return missing;
  if (!asked.success) return refuse(422, 'NOT_VALID');
  const { status, version } = asked.data;
  const isFunded = group.transfers.some(({ fundings }) => fundings > 0);
  const isPermitted = status === 'COMPLETED' ? group.status === 'NEW' : !isFunded;
  if (version !== group.version || !isPermitted) return refuse(409, 'batch.group.conflict');
  group.status = status;
  group.version += 1;
  if (status === 'CANCELLED') {
    for (const transfer of group.transfers) {
      if (transfer.status !== 'incoming_payment_waiting') continue;
      transfer.wasStopped = true;
      simulation.move(transfer, 'cancelled');
    }
  }
  return ok(describeGroup(group));
};

/** All of its transfers that wait for their money, or none. */
const fundGroup: Handler = ({ simulation, params, body }) => {
  const { books, profileId } = simulation;
  const group = books.groups.get(params[1] ?? '');
  if (group === undefined) return missing;
  if (!z.object({ type: z.literal('BALANCE') }).safeParse(body).success) {
    return refuse(422, 'NOT_VALID', 'type');
  }
  const { id, name, sourceCurrency, status, transfers } = group;
  const waiting = transfers.filter((one) => one.status === 'incoming_payment_waiting');
  if (status !== 'COMPLETED' || waiting.length === 0) {
    return refuse(409, 'batch.group.not.payable');
  }
  const total = waiting.reduce((sum, { quote }) => sum + quote.sourceMinor, 0n);
  const balance = books.balances.get(sourceCurrency) ?? 0n;
  if (balance < total) return refuse(422, 'balance.payment-option-unavailable');
  books.balances.set(sourceCurrency, balance - total);
  for (const transfer of waiting) {
    transfer.fundings += 1;
    transfer.fundedAtMs = simulation.nowMs();
    simulation.move(transfer, 'processing');
  }
  return ok({
    id,
    name,
    fileName: null,
    alreadyPaid: true,
    shortId: 12_345,
    userId: 55,
    profileId: new JsonNumber(profileId),
    sourceCurrency,
    status,
    groupType: 'API',
    transferIds: transfers.map((transfer) => new JsonNumber(transfer.id)),
  });
};

const groups = '^/v3/profiles/([^/]+)/batch-groups';

export const groupOperations: readonly (readonly [string, RegExp, Handler])[] = [
  ['POST', new RegExp(`${groups}$`), createGroup],
  ['GET', new RegExp(`${groups}/([^/]+)$`), readGroup],
  ['PATCH', new RegExp(`${groups}/([^/]+)$`), changeGroup],
  ['POST', new RegExp(`${groups}/([^/]+)/transfers$`), addTransfer],
  ['POST', /^\/v3\/profiles\/([^/]+)\/batch-payments\/([^/]+)\/payments$/, fundGroup],
];
