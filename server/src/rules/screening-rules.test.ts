import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  blocking,
  createScreenedPayouts,
  otherWallet,
  type ScreenedPayouts,
  wallet,
} from '../../testing/setups/screened-payouts.ts';
import { listPayoutScreenings, wasScreened } from '../screening/payout-screenings.ts';

/** Screening of payouts before they are sent. */

let money: ScreenedPayouts['money'];
let createOwner: ScreenedPayouts['createOwner'];
let open: ScreenedPayouts['open'];
let payWallet: ScreenedPayouts['payWallet'];
let payCard: ScreenedPayouts['payCard'];
let payBank: ScreenedPayouts['payBank'];
let findException: ScreenedPayouts['findException'];
before(async () => {
  ({ money, createOwner, open, payWallet, payCard, payBank, findException } =
    await createScreenedPayouts());
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

describe('before it is sent, a payout', () => {
  it('to a listed wallet is held, whatever it is paid in and however it is written', async () => {
    const kit = open();
    const owner = await createOwner();
    const payouts = [
      await payWallet(owner, wallet, 'ETH'),
      await payWallet(owner, wallet.toLowerCase(), 'USDC'),
    ];
    for (const payout of payouts) {
      assert.equal(await kit.settle(payout), 'HOLD');
      const exception = await findException(payout);
      assert.equal(exception?.detail, 'ofac_sdn 300 (1000/1000, wallet)');
      assert.equal(await wasScreened(money.db.system, payout), false);
    }
    assert.equal(kit.rail.sends(), 0);
    const other = await payWallet(owner, otherWallet);
    assert.equal(await kit.settle(other), 'COMPLETED');
    assert.equal(await wasScreened(money.db.system, other), true);
  });

  it('to a listed holder of the account is held, and the detail says which field', async () => {
    const kit = open();
    const payout = await payCard(await createOwner(), 'ZVEROVSKY TIMOFEY');
    assert.equal(await kit.settle(payout), 'HOLD');
    const detail = (await findException(payout))?.detail ?? '';
    assert.match(detail, /^ofac_sdn 101 \(\d+\/1000, BankAccountName\)$/);
    assert.ok(!detail.includes('ZVEROVSKY'));
    const mixed = await payCard(await createOwner(), 'M\u0430ria Lopez');
    assert.equal(await kit.settle(mixed), 'HOLD');
    assert.match((await findException(mixed))?.detail ?? '', /mixed_scripts .*BankAccountName/);
    const same = await payCard(await createOwner(), 'GÓMEZ Ana');
    assert.equal(await kit.settle(same), 'COMPLETED');
  });

  it('to a branch of a listed bank is held each time, regardless of the name of the bank', async () => {
    const kit = open();
    const owner = await createOwner();
    const payout = await payBank(owner, { SWIFT: 'OLIBDEFFXXX' });
    assert.equal(await kit.settle(payout), 'HOLD');
    assert.equal((await findException(payout))?.detail, 'ofac_sdn 304 (1000/1000, bank code)');
    assert.equal(await kit.release(payout), 'done');
    assert.equal(await kit.settle(payout), 'COMPLETED');
    assert.equal(await kit.settle(await payBank(owner, { SWIFT: 'OLIBDEFF' })), 'HOLD');
    assert.equal(await kit.settle(await payBank(owner, { SWIFT: 'DEUTDEFF' })), 'COMPLETED');
  });

  it('to a blocked country is held each time', async () => {
    const kit = open({ screening: blocking });
    const owner = await createOwner();
    const card = await payCard(owner, 'GÓMEZ Ana');
    assert.equal(await kit.settle(card), 'HOLD');
    const detail = 'blocked_countries CHN (1000/1000, country)';
    assert.equal((await findException(card))?.detail, detail);
    assert.equal(await kit.release(card), 'done');
    assert.equal(await kit.settle(card), 'COMPLETED');
    assert.equal(await kit.settle(await payCard(owner, 'GÓMEZ Ana')), 'HOLD');
    assert.equal(await kit.settle(await payBank(owner, { SWIFT: 'DEUTDEFF' })), 'COMPLETED');
  });

  it('is not held again for a name that a person cleared, and is for a wallet', async () => {
    const kit = open();
    const owner = await createOwner();
    const [named, walleted] = [
      await payCard(owner, 'ZVEROVSKY TIMOFEY'),
      await payWallet(owner, wallet),
    ];
    assert.equal(await kit.settle(named), 'HOLD');
    assert.equal(await kit.settle(walleted), 'HOLD');
    for (const payout of [named, walleted]) {
      assert.equal(await kit.release(payout), 'done');
      assert.equal(await kit.settle(payout), 'COMPLETED');
      assert.equal(await wasScreened(money.db.system, payout), true);
      const [last] = await listPayoutScreenings(money.db.system, payout);
      assert.equal(last?.clearedBy, 'Ada');
    }
    assert.equal(await kit.settle(await payCard(owner, 'Zverovsky Timofey')), 'HOLD');
    assert.equal(await kit.settle(await payCard(owner, 'ZVEROVSKY TIMOFEY')), 'COMPLETED');
    assert.equal(await kit.settle(await payWallet(owner, wallet)), 'HOLD');
    const other = { ...owner, userId: await money.createUser(owner.accountId) };
    assert.equal(await kit.settle(await payCard(other, 'ZVEROVSKY TIMOFEY')), 'HOLD');
  });

  it('that is above a limit too is held for both, and counts towards the limit', async () => {
    const kit = open({
      limits: [{ name: 'one a day', per: 'account', windowHours: 24, countMax: 1 }],
    });
    const owner = await createOwner();
    const listed = await payWallet(owner, wallet);
    assert.equal(await kit.settle(listed), 'HOLD');
    assert.equal((await findException(listed))?.detail, 'ofac_sdn 300 (1000/1000, wallet)');
    assert.equal(await kit.release(listed), 'done');
    assert.equal(await kit.settle(listed), 'COMPLETED');
    const second = await payWallet(owner, wallet);
    assert.equal(await kit.settle(second), 'HOLD');
    const detail = 'ofac_sdn 300 (1000/1000, wallet); over the limit: one a day';
    assert.equal((await findException(second))?.detail, detail);
    assert.equal(await kit.settle(await payWallet(owner, otherWallet)), 'HOLD');
  });
});
