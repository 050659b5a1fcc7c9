import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createFakeRail, createMoneyTest } from '../../testing/setups/money.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { holdForApproval } from '../payouts/approval-hold.ts';
import { everyAccount, listPolicyVersions, setApprovalPolicy } from './approval-policies.ts';
import { readPolicyContent } from './approval-rules.ts';
import { applyApprovals, expireApprovals, judgeApprovals } from './approvals.ts';

const money = await createMoneyTest();
after(() => money[Symbol.asyncDispose]());

const rates: MidRates = { find: () => ({ ok: false, reason: 'unknown', detail: 'none' }) };
const services = { session: money.db.system, keys: money.keys, rates };
const by = { by: 'ada', reason: 'a test' };
const all = readPolicyContent(JSON.stringify({ rules: [{ name: 'all', when: {} }] }));
const none = readPolicyContent(JSON.stringify({ rules: [] }));

test('the policy of every account holds besides that of each, and the newest version counts', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const { payoutId } = await money.quoteAndCommit(owner);
  const payout = { accountId: owner.accountId, payoutId };
  const judge = async () => (await judgeApprovals(services, [payout]))[0]?.detail;
  assert.equal(await judge(), undefined);
  assert.equal(
    await setApprovalPolicy(services, { accountId: everyAccount, content: all, ...by }),
    1,
  );
  assert.equal(await judge(), 'all');
  const own = { accountId: owner.accountId, content: all, ...by };
  assert.equal(await setApprovalPolicy(services, own), 1);
  assert.equal(await judge(), 'all, all');
  await setApprovalPolicy(services, { accountId: everyAccount, content: none, ...by });
  assert.equal(await judge(), 'all');
  assert.equal(await setApprovalPolicy(services, { ...own, content: none }), 2);
  assert.equal(await judge(), undefined);
  const versions = await listPolicyVersions(services, owner.accountId);
  assert.deepEqual(
    versions.map(({ version, replacedAt, isForged }) => [version, replacedAt === null, isForged]),
    [
      [2, true, false],
      [1, false, false],
    ],
  );
});

test('when two settings arrive at the same moment, one is refused', async () => {
  const { accountId } = await money.createOwner();
  const set = () => setApprovalPolicy(services, { accountId, content: all, ...by });
  const results = await Promise.allSettled([set(), set(), set()]);
  const versions = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  assert.deepEqual(versions.toSorted(), [...new Set(versions)].toSorted());
  for (const one of results) {
    if (one.status === 'rejected')
      assert.equal((one.reason as { code: string }).code, 'illegal_move');
  }
});

test('a policy that was written past the service holds every payout', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  await money.rows(
    `insert into approval_policies (account_id, version, content, has_rules, set_by, reason, set_at,
       mac)
     values ($1, 1, '{"rules":[],"examples":[]}', true, 'ada', 'x', now(), $2)`,
    [owner.accountId, Buffer.alloc(36)],
  );
  const { payoutId } = await money.quoteAndCommit(owner);
  const [hold] = await judgeApprovals(services, [{ accountId: owner.accountId, payoutId }]);
  assert.equal(hold?.approvers, 2);
  assert.match(hold?.detail ?? '', /past the service/);
});

test('a payout that was held once is not judged again, and its approval expires', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  await setApprovalPolicy(services, { accountId: owner.accountId, content: all, ...by });
  const { payoutId } = await money.quoteAndCommit(owner);
  const payout = { accountId: owner.accountId, payoutId };
  assert.ok(await applyApprovals(services, payout));
  assert.ok(await applyApprovals(services, payout), 'it still waits');
  assert.equal((await money.payout(payoutId)).status, 'HOLD');
  await expireApprovals(money.db.system);
  assert.equal((await money.payout(payoutId)).status, 'HOLD');
  await money.advance(73 * 3_600_000);
  await expireApprovals(money.db.system);
  assert.equal((await money.payout(payoutId)).status, 'CANCELLED');
  assert.equal(await money.balance(owner.accountId, 'USD'), 100_000n);
  assert.ok(!(await applyApprovals(services, payout)));
  await money.assertSound();
});

test('a payout that is under way is not held when it is committed again', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const payout = await money.quoteAndCommit(owner);
  await money.createDispatcher(createFakeRail(() => ({ outcome: 'accepted' }))).runDue();
  await setApprovalPolicy(services, { accountId: owner.accountId, content: all, ...by });
  assert.equal(await applyApprovals(services, payout), false);
  assert.equal((await money.payout(payout.payoutId)).status, 'PROCESSING');
});

test('a payout that a process held in between is held once', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const payout = await money.quoteAndCommit(owner);
  await setApprovalPolicy(services, { accountId: owner.accountId, content: all, ...by });
  const [hold] = await judgeApprovals(services, [payout]);
  assert.ok(hold !== undefined);
  for (let times = 0; times < 2; times += 1) {
    assert.ok(await holdForApproval(money.db.system, { ...payout, fence: undefined }, hold));
  }
  assert.equal((await money.payout(payout.payoutId)).status, 'HOLD');
});

test('a tenant reads its own policy and that of all, and no other', async () => {
  const owner = await money.createOwner();
  const other = await money.createOwner();
  for (const accountId of [owner.accountId, other.accountId, everyAccount]) {
    await setApprovalPolicy(services, { accountId, content: all, ...by });
  }
  const tenant = { ...services, session: money.db.tenant(owner.accountId) };
  assert.equal((await listPolicyVersions(tenant, owner.accountId)).length, 1);
  assert.ok((await listPolicyVersions(tenant, everyAccount)).length > 0);
  assert.equal((await listPolicyVersions(tenant, other.accountId)).length, 0);
});
