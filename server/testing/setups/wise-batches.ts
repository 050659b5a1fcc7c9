import assert from 'node:assert/strict';
import type { Instruction } from '../../src/rails/contract/contract.ts';
import type { HostGround } from './rail.ts';
import { context, openWiseRail, type WiseRail } from './wise.ts';

/** Wise rails that fund payments in batch groups. */

export const batchGroups = { waitSeconds: 0 };

export async function withGroups(
  ground: HostGround,
  run: (parts: WiseRail) => Promise<void>,
  {
    options = {},
    changes = {},
  }: { options?: Parameters<typeof openWiseRail>[1]; changes?: object } = {},
): Promise<void> {
  const opened = await openWiseRail(ground, options);
  try {
    await run({ ...opened, rail: await opened.again({ batchGroups, ...changes }) });
  } finally {
    await opened.close();
  }
}

export async function sendAll(
  { rail }: Pick<WiseRail, 'rail'>,
  instructions: readonly Instruction[],
): Promise<void> {
  for (const instruction of instructions) {
    assert.equal((await rail.send(instruction, context)).outcome, 'accepted');
  }
}

export function assertPaidOnce(
  { wise }: Pick<WiseRail, 'wise'>,
  all: readonly Instruction[],
): void {
  for (const { reference } of all) {
    const made = wise.transfers.filter((transfer) => transfer.reference === reference);
    assert.deepEqual(
      made.map(({ fundings, status }) => [fundings, status]),
      [[1, 'processing']],
    );
    const inGroups = wise.groups.filter(({ transfers }) =>
      transfers.some((transfer) => transfer.reference === reference),
    );
    assert.equal(inGroups.length, 1);
  }
}

export async function topUp({ wise }: Pick<WiseRail, 'wise'>, amount: number): Promise<void> {
  await fetch(`${wise.url}/v1/simulation/balance/topup`, {
    method: 'POST',
    headers: { authorization: `Bearer ${wise.token}` },
    body: JSON.stringify({ profileId: 30_000_001, balanceId: 200_001, currency: 'EUR', amount }),
  });
}
