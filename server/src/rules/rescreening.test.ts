import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  bankLine,
  createScreenedPayouts,
  type ScreenedPayouts,
  wallet,
  walletLine,
  withUserName,
  withWallet,
} from '../../testing/setups/screened-payouts.ts';
import { asFile, sdnLine, sdnLines } from '../../testing/setups/screening.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';
import { wasScreened } from '../screening/payout-screenings.ts';
import { listWaitingPayouts } from './recipient-rescreening.ts';
import { decideScreenedPayout } from './screening-decisions.ts';

/** Screening of payouts that are in flight when a list changes. */

let money: ScreenedPayouts['money'];
let load: ScreenedPayouts['load'];
let createOwner: ScreenedPayouts['createOwner'];
let open: ScreenedPayouts['open'];
let payTo: ScreenedPayouts['payTo'];
let payWallet: ScreenedPayouts['payWallet'];
let findException: ScreenedPayouts['findException'];
before(async () => {
  ({ money, load, createOwner, open, payTo, payWallet, findException } =
    await createScreenedPayouts());
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

describe('when a list changes, a payout', () => {
  const accepted: RailAnswer = { outcome: 'accepted' };

  it('that waits in a file queue is stopped and held', async () => {
    const kit = open({ send: accepted, cancel: { outcome: 'rejected', reason: 'cancelled' } });
    const payout = await money.quoteAndCommit(await createOwner());
    assert.equal(await kit.settle(payout), 'PROCESSING');
    await kit.rescreen();
    assert.equal(await kit.settle(payout), 'PROCESSING');
    await load(withUserName);
    await kit.rescreen();
    assert.equal(await kit.settle(payout), 'HOLD');
    assert.equal(kit.cancels(payout), 1);
    assert.match((await findException(payout))?.detail ?? '', /^ofac_sdn 301 /);
    assert.equal(await wasScreened(money.db.system, payout), false);
    await kit.rescreen();
    assert.equal(kit.cancels(payout), 1);
    await load(withWallet);
  });

  it('that its rail can no longer stop continues, and an exception opens', async () => {
    for (const cancel of [accepted, undefined]) {
      const kit = open({ send: accepted, ...(cancel && { cancel }) });
      const payout = await money.quoteAndCommit(await createOwner());
      assert.equal(await kit.settle(payout), 'PROCESSING');
      await load(withUserName);
      await kit.rescreen();
      assert.equal(await kit.settle(payout), 'PROCESSING');
      assert.match((await findException(payout))?.detail ?? '', /^ofac_sdn 301 /);
      const said = { ...payout, decision: 'cleared', decidedBy: 'Ada', reason: 'a test' } as const;
      await decideScreenedPayout(money, said);
      assert.equal(await findException(payout), undefined);
      assert.equal(await wasScreened(money.db.system, payout), true);
      await assert.rejects(decideScreenedPayout(money, said), /no exception of kind screening/);
      await load(withWallet);
    }
  });

  it('that waits to be sent is held without having been sent', async () => {
    const kit = open({ send: { outcome: 'retry', reason: 'payer_unavailable' } });
    const payout = await money.quoteAndCommit(await createOwner());
    assert.equal(await kit.settle(payout), 'PROCESSING');
    const sends = kit.rail.sends();
    await load(withUserName);
    await kit.rescreen();
    assert.equal(await kit.settle(payout), 'HOLD');
    assert.equal(kit.rail.sends(), sends);
    assert.ok((await findException(payout)) !== undefined);
    const said = { ...payout, decision: 'cleared', decidedBy: 'Ada', reason: 'a test' } as const;
    await assert.rejects(decideScreenedPayout(money, said), /is HOLD/);
    await load(withWallet);
  });

  it('that another claim has is stopped once the claim is over', async () => {
    const kit = open({ send: accepted, cancel: { outcome: 'rejected', reason: 'cancelled' } });
    const payout = await money.quoteAndCommit(await createOwner());
    assert.equal(await kit.settle(payout), 'PROCESSING');
    await load(withUserName);
    const lease = (until: string) =>
      money.rows(`update payout_dispatches set lease_until = ${until} where payout_id = $1`, [
        payout.payoutId,
      ]);
    await lease(`clock_timestamp() + interval '1 hour'`);
    await kit.rescreen();
    assert.equal(kit.cancels(payout), 0);
    assert.ok((await findException(payout)) !== undefined);
    await lease('null');
    await kit.rescreen();
    assert.equal((await money.payout(payout.payoutId)).status, 'HOLD');
    await load(withWallet);
  });

  it('that is scheduled waits for a decision before its time, and is not touched', async () => {
    const kit = open();
    const owner = await createOwner();
    const hourMs = 3_600_000;
    const nowMs = money.clock.nowMs();
    const payout = await payTo(owner, {
      country: 'CHN',
      deliveryType: 'BANK_DEPOSIT',
      currency: 'CNY',
      values: { BankAccountNumber: '6212345678901232', BankAccountName: 'PRZYBYLOWSKY JAN' },
      schedule: {
        scheduledFor: '2030-01-01',
        runsAt: new Date(nowMs + hourMs),
        deadlineAt: new Date(nowMs + 3 * hourMs),
        givenSide: 'source',
        maxSourceMinor: undefined,
        minDestinationMinor: undefined,
      },
    });
    await kit.rescreen();
    const { system } = money.db;
    assert.deepEqual(await listWaitingPayouts(system, 10), []);
    await load(
      asFile([...sdnLines, walletLine, bankLine, sdnLine({ id: 303, name: 'PRZYBYLOWSKY, Jan' })]),
    );
    await kit.rescreen();
    const [waiting] = await listWaitingPayouts(system, 10);
    assert.deepEqual([waiting?.payout_id, waiting?.entries], [payout.payoutId, 'ofac_sdn/303']);
    assert.equal((await money.payout(payout.payoutId)).status, 'SCHEDULED');
    assert.equal(await findException(payout), undefined);
    await load(withWallet);
    await kit.rescreen();
    assert.deepEqual(await listWaitingPayouts(system, 10), []);
  });

  it('that a person has released is left alone', async () => {
    const kit = open({ send: { outcome: 'retry', reason: 'payer_unavailable' } });
    const payout = await payWallet(await createOwner(), wallet);
    assert.equal(await kit.settle(payout), 'HOLD');
    assert.equal(await kit.release(payout), 'done');
    assert.equal(await kit.settle(payout), 'PROCESSING');
    await load(
      asFile([...sdnLines, walletLine, bankLine, sdnLine({ id: 302, name: 'NOWAKOWSKY, Pe' })]),
    );
    await kit.rescreen();
    assert.equal(await kit.settle(payout), 'PROCESSING');
    assert.equal(await findException(payout), undefined);
    await load(withWallet);
  });
});
