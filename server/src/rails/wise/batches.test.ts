import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type HostGround, openHostGround } from '../../../testing/setups/rail.ts';
import {
  context,
  newInstruction,
  type openWiseRail,
  toAmerica,
  toGermany,
  type WiseRail,
} from '../../../testing/setups/wise.ts';
import {
  assertPaidOnce,
  batchGroups,
  sendAll,
  topUp,
  withGroups as withGroupsOn,
} from '../../../testing/setups/wise-batches.ts';

let ground: HostGround;
before(async () => {
  ground = await openHostGround();
});
after(() => ground.close());

type Run = Parameters<typeof withGroupsOn>[1];
const withGroups = (
  run: Run,
  options: Parameters<typeof openWiseRail>[1] = {},
  changes: object = {},
) => withGroupsOn(ground, run, { options, changes });

const unfunded = { wise: { balances: { EUR: '10' } } };

test('payments that wait are funded as one group, regardless of their currencies', () =>
  withGroups(async ({ rail, wise }) => {
    const all = [newInstruction(), newInstruction(), toAmerica(), toGermany()];
    await sendAll({ rail }, all);
    assert.equal(wise.transfers.length, 0);
    const before = wise.balance('EUR');
    await rail.work?.(context);
    assertPaidOnce({ wise }, all);
    assert.deepEqual(
      wise.groups.map(({ status, transfers }) => [status, transfers.length]),
      [['COMPLETED', 4]],
    );
    const cost = wise.transfers.reduce((sum, { quote }) => sum + quote.sourceMinor, 0n);
    assert.equal(before - wise.balance('EUR'), cost);
    await rail.work?.(context);
    await wise.advance();
    await wise.advance();
    for (const instruction of all) {
      const answer = await rail.query(instruction, context);
      assert.equal(answer.outcome, 'paid');
      assert.equal(answer.charges?.length, 1);
      assert.equal((await rail.send(instruction, context)).outcome, 'paid');
    }
  }));

test('a payment is canceled while it waits, and not once it is in a group', () =>
  withGroups(async ({ rail, wise }) => {
    const [stopped, kept] = [newInstruction(), newInstruction()];
    await sendAll({ rail }, [stopped, kept]);
    assert.equal((await rail.cancel?.(stopped, context))?.outcome, 'rejected');
    wise.setFaults([{ on: /batch-payments/, kind: 'reset_before', count: 1 }]);
    await rail.work?.(context);
    assert.equal((await rail.cancel?.(kept, context))?.outcome, 'accepted');
    await rail.work?.(context);
    assertPaidOnce({ wise }, [kept]);
    assert.equal(wise.find(stopped.reference), undefined);
    // A funded transfer is canceled by itself, until Wise has converted it.
    assert.equal((await rail.cancel?.(kept, context))?.outcome, 'rejected');
  }));

test('waiting payments are paid after batch groups were switched off', () =>
  withGroups(async ({ rail, wise, again }) => {
    const all = [newInstruction(), newInstruction()];
    await sendAll({ rail }, all);
    const off = await again();
    await off.work?.(context);
    assertPaidOnce({ wise }, all);
  }));

test('a group without enough money waits for it', () =>
  withGroups(async ({ rail, wise }) => {
    const all = [newInstruction(), newInstruction()];
    await sendAll({ rail }, all);
    await rail.work?.(context);
    assert.deepEqual(
      wise.transfers.map(({ fundings }) => fundings),
      [0, 0],
    );
    assert.equal((await rail.query(all[0] ?? newInstruction(), context)).outcome, 'accepted');
    await topUp({ wise }, 500);
    await rail.work?.(context);
    assertPaidOnce({ wise }, all);
  }, unfunded));

test('a group whose rates are over before it is funded is canceled and refused', async () => {
  let realMs = Date.now();
  const times = { nowMs: () => realMs, realNowMs: () => realMs };
  const options = { wise: { balances: { EUR: '10' }, ...times }, host: times };
  await withGroups(async ({ rail, wise }) => {
    const all = [newInstruction(), newInstruction()];
    await sendAll({ rail }, all);
    await rail.work?.(context);
    realMs += 31 * 60_000;
    await rail.work?.(context);
    assert.deepEqual(
      wise.groups.map(({ status }) => status),
      ['CANCELLED'],
    );
    for (const instruction of all) {
      assert.deepEqual(await rail.query(instruction, context), {
        outcome: 'rejected',
        reason: 'price_worse',
        code: 'rate.expired',
      });
    }
    // One that waited too long is refused by itself.
    const late = newInstruction();
    await sendAll({ rail }, [late]);
    realMs += 31 * 60_000;
    await rail.work?.(context);
    assert.equal((await rail.query(late, context)).outcome, 'rejected');
    assert.equal(wise.groups.length, 1);
  }, options);
});

test('a transfer that Wise refuses leaves the others in the group', () =>
  withGroups(async ({ rail, wise }) => {
    const all = [newInstruction(), newInstruction(), newInstruction()];
    await sendAll({ rail }, all);
    // Used up: the quote has another transfer.
    const [spent] = [...wise.quotes].slice(-1);
    assert.ok(spent !== undefined);
    spent.transferId = '1';
    await rail.work?.(context);
    const answers = await Promise.all(all.map((one) => rail.query(one, context)));
    const refused = all.filter((_, at) => answers[at]?.outcome === 'rejected');
    assert.equal(refused.length, 1);
    const answer = answers.find(({ outcome }) => outcome === 'rejected');
    assert.equal(answer?.code, 'error.quote.already.used');
    assertPaidOnce(
      { wise },
      all.filter((one) => !refused.includes(one)),
    );
  }));

test('a group with a foreign transfer is not funded and opens an exception', () =>
  withGroups(async ({ rail, wise, again, host }) => {
    const all = [newInstruction(), newInstruction()];
    await sendAll({ rail }, all);
    wise.setFaults([{ on: /^PATCH .*batch-groups/, kind: 'reset_before', count: 1 }]);
    await rail.work?.(context);
    const single = await again();
    const other = newInstruction();
    wise.setFaults([{ on: /\/payments$/, kind: 'forbidden', count: 1 }]);
    await single.send(other, context);
    const foreign = wise.find(other.reference);
    const [group] = wise.groups;
    assert.ok(foreign !== undefined && group !== undefined);
    group.transfers.push(foreign);
    group.version += 1;
    for (let pass = 0; pass < 2; pass += 1) await rail.work?.(context);
    assert.equal(group.status, 'NEW');
    assert.deepEqual(
      host.problems.map(({ id }) => id),
      [`misfit:group:${group.id}:${foreign.id}`],
    );
    assert.ok(wise.transfers.every(({ fundings }) => fundings === 0));
    // Without it the group continues.
    group.transfers.pop();
    group.version += 1;
    await rail.work?.(context);
    assertPaidOnce({ wise }, all);
  }));

test('a transfer that is canceled at Wise before its group is funded is refused by itself', () =>
  withGroups(async ({ rail, wise }) => {
    const [stopped, kept] = [newInstruction(), newInstruction()];
    await sendAll({ rail }, [stopped, kept]);
    await rail.work?.(context);
    await fetch(`${wise.url}/v1/transfers/${wise.find(stopped.reference)?.id}/cancel`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${wise.token}` },
    });
    await topUp({ wise }, 500);
    for (let pass = 0; pass < 2; pass += 1) await rail.work?.(context);
    assertPaidOnce({ wise }, [kept]);
    assert.equal(wise.find(stopped.reference)?.fundings, 0);
    assert.deepEqual(await rail.query(stopped, context), {
      outcome: 'rejected',
      reason: 'payer_refused',
      code: 'cancelled',
    });
    assert.equal((await rail.query(kept, context)).outcome, 'accepted');
  }, unfunded));

test('a group of which Wise has funded a part is not funded again', () =>
  withGroups(async ({ rail, wise, host }) => {
    const all = [newInstruction(), newInstruction()];
    await sendAll({ rail }, all);
    await rail.work?.(context);
    const [paid, left] = wise.transfers;
    assert.ok(paid !== undefined && left !== undefined);
    paid.fundings = 1;
    paid.status = 'processing';
    await topUp({ wise }, 500);
    await rail.work?.(context);
    assert.deepEqual([paid.fundings, left.fundings], [1, 0]);
    await rail.work?.(context);
    assert.deepEqual(
      host.problems.map(({ kind, detail }) => [kind, detail.replace(/^.*: /, '')]),
      [['not_understood', 'Wise has funded 1 of its transfers and not the other 1']],
    );
  }, unfunded));

test('a group within the currency of the balance ends with its quotes, too', async () => {
  let realMs = Date.now();
  const times = { nowMs: () => realMs, realNowMs: () => realMs };
  const options = { wise: { balances: { EUR: '10' }, ...times }, host: times };
  await withGroups(async ({ rail, wise }) => {
    const one = toGermany();
    await sendAll({ rail }, [one]);
    await rail.work?.(context);
    realMs += 31 * 60_000;
    await rail.work?.(context);
    assert.equal((await rail.query(one, context)).outcome, 'rejected');
    assert.equal(wise.find(one.reference)?.status, 'cancelled');
  }, options);
});

test('a group that waits for its money is left alone between its fundings', async () => {
  let realMs = Date.now();
  const times = { nowMs: () => realMs, realNowMs: () => realMs };
  let exchanges = 0;
  const wise = { balances: { EUR: '10' }, ...times, onExchange: () => (exchanges += 1) };
  const run = async ({ rail, ...parts }: WiseRail): Promise<void> => {
    const one = newInstruction();
    await sendAll({ rail }, [one]);
    await rail.work?.(context);
    exchanges = 0;
    assert.equal(await rail.work?.(context), realMs + 60_000);
    assert.equal(exchanges, 0);
    await topUp(parts, 500);
    realMs += 60_000;
    await rail.work?.(context);
    assertPaidOnce(parts, [one]);
  };
  await withGroups(run, { wise, host: times }, { fundingSeconds: 60 });
});

test('a group that changes after it was read is read again before it is completed', () =>
  withGroups(async ({ rail, wise, again }) => {
    const all = [newInstruction(), newInstruction()];
    await sendAll({ rail }, all);
    let conflicts = 0;
    const late: typeof fetch = (...request) => {
      const [group] = wise.groups;
      if (request[1]?.method === 'PATCH' && conflicts === 0 && group !== undefined) {
        conflicts += 1;
        group.version += 1;
      }
      return fetch(...request);
    };
    const other = await again({ batchGroups }, {}, { fetch: late });
    await other.work?.(context);
    assert.deepEqual([conflicts, wise.groups[0]?.status], [1, 'NEW']);
    await other.work?.(context);
    assertPaidOnce({ wise }, all);
  }));

test('a group that is canceled at Wise ends its payments, through a lost answer', () =>
  withGroups(async ({ rail, wise }) => {
    const all = [newInstruction(), newInstruction()];
    await sendAll({ rail }, all);
    await rail.work?.(context);
    const [group] = wise.groups;
    assert.ok(group !== undefined);
    const changed = await fetch(
      `${wise.url}/v3/profiles/${wise.profileId}/batch-groups/${group.id}`,
      {
        method: 'PATCH',
        headers: { authorization: `Bearer ${wise.token}` },
        body: JSON.stringify({ status: 'CANCELLED', version: group.version }),
      },
    );
    assert.equal(changed.status, 200);
    await topUp({ wise }, 500);
    wise.setFaults([{ on: /^GET \/v1\/transfers\/\d+$/, kind: 'reset_after', count: 1 }]);
    for (let pass = 0; pass < 2; pass += 1) await rail.work?.(context);
    for (const one of all) {
      assert.equal((await rail.query(one, context)).outcome, 'rejected');
      assert.equal(wise.find(one.reference)?.fundings, 0);
    }
  }, unfunded));

test('a payment whose recipient was erased does not keep its group from being funded', () =>
  withGroups(async ({ rail, wise, host }) => {
    const [ended, kept] = [newInstruction(), newInstruction()];
    await sendAll({ rail }, [ended, kept]);
    await rail.work?.(context);
    const transfer = wise.find(ended.reference);
    await fetch(`${wise.url}/v1/transfers/${transfer?.id}/cancel`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${wise.token}` },
    });
    assert.equal((await rail.query(ended, context)).outcome, 'rejected');
    await host.eraseRecipient(ended.reference);
    await topUp({ wise }, 500);
    for (let pass = 0; pass < 2; pass += 1) await rail.work?.(context);
    assertPaidOnce({ wise }, [kept]);
    assert.equal(transfer?.fundings, 0);
    assert.deepEqual(await listGroupStates(host), ['funded']);
  }, unfunded));

test('a group whose funding was not answered ends after a recipient was erased', () =>
  withGroups(async ({ rail, wise, host }) => {
    const [erased, kept] = [newInstruction(), newInstruction()];
    await sendAll({ rail }, [erased, kept]);
    wise.setFaults([{ on: /batch-payments/, kind: 'reset_after', count: 1 }]);
    await rail.work?.(context);
    await host.eraseRecipient(erased.reference);
    await rail.work?.(context);
    assertPaidOnce({ wise }, [erased, kept]);
    assert.deepEqual(await listGroupStates(host), ['funded']);
  }));

test('the transfer of an erased recipient is canceled before the rest of its group is funded', () =>
  withGroups(async ({ rail, wise, host }) => {
    const [erased, kept] = [newInstruction(), newInstruction()];
    await sendAll({ rail }, [erased, kept]);
    wise.setFaults([{ on: /^PATCH .*batch-groups/, kind: 'reset_before', count: 1 }]);
    await rail.work?.(context);
    // A person has ended its payout.
    await host.eraseRecipient(erased.reference);
    wise.setFaults([{ on: /^PUT .*cancel$/, kind: 'reset_before', count: 1 }]);
    await rail.work?.(context);
    assert.deepEqual(
      wise.transfers.map(({ fundings }) => fundings),
      [0, 0],
    );
    for (let pass = 0; pass < 2; pass += 1) await rail.work?.(context);
    assertPaidOnce({ wise }, [kept]);
    assert.equal(wise.find(erased.reference)?.status, 'cancelled');
    assert.equal(wise.find(erased.reference)?.fundings, 0);
    assert.deepEqual(await listGroupStates(host), ['funded']);
  }));

test('a group of which Wise has funded only an erased recipient ends', async () => {
  const realMs = Date.now();
  const times = { nowMs: () => realMs, realNowMs: () => realMs };
  const options = { wise: { balances: { EUR: '10' }, ...times }, host: times };
  await withGroups(async ({ rail, wise, host }) => {
    const [erased, other] = [newInstruction(), newInstruction()];
    await sendAll({ rail }, [erased, other]);
    await rail.work?.(context);
    const transfer = wise.find(erased.reference);
    assert.ok(transfer !== undefined);
    transfer.fundings = 1;
    transfer.status = 'processing';
    await fetch(`${wise.url}/v1/transfers/${wise.find(other.reference)?.id}/cancel`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${wise.token}` },
    });
    await host.eraseRecipient(erased.reference);
    await rail.work?.(context);
    assert.equal((await rail.query(other, context)).outcome, 'rejected');
    assert.deepEqual(await listGroupStates(host), ['funded']);
  }, options);
});

async function listGroupStates({ store }: WiseRail['host']): Promise<string[]> {
  return (await store.list('groups', { count: 10 })).map(({ state }) => state);
}
