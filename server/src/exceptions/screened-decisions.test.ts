import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { createRates } from '../../testing/setups/destinations.ts';
import { createFakeRail, createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { createPersons } from '../../testing/setups/persons.ts';
import { twoPersonsAbove } from '../../testing/setups/policy.ts';
import { asFile, loadLists, sdnLine, sdnLines } from '../../testing/setups/screening.ts';
import { createRescreening } from '../rules/rescreening.ts';
import { createRules } from '../rules/rules.ts';
import { decideScreenedPayout } from '../rules/screening-decisions.ts';
import { findScreening } from '../screening/records.ts';
import { createScreeningCache } from '../screening/screening.ts';
import { type Decision, decidePayout, findPayoutVersion } from './decisions.ts';
import { listExceptionPage } from './exceptions.ts';

/** What a person clears is what that person saw, although lists change at any time. */

const first = sdnLine({ id: 301, name: 'GOMEZ, Ana' });
const second = sdnLine({ id: 302, name: 'GOMEZ, Ana', remarks: 'DOB 1990.' });

let money: MoneyTest;
let person: ReturnType<typeof createPersons>;
before(async () => {
  money = await createMoneyTest();
  person = createPersons(money);
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

async function load(lines: readonly string[]): Promise<void> {
  const sdn = asFile([...sdnLines, ...lines]);
  const reports = await loadLists(money.db, { sdn }, { acceptWarnings: true });
  assert.ok(reports.every(({ ok }) => ok));
}

/** A payout to a recipient with a hit, which is on hold or, with `isSent`, already with its rail. */
async function openHit({ isSent = false, amount = 20_000n } = {}) {
  await load(isSent ? [] : [first]);
  const rates = createRates({});
  const rail = createFakeRail(() => ({ outcome: 'accepted' }));
  const base = {
    db: money.db,
    keys: money.keys,
    screening: {
      lists: ['ofac_sdn', 'un_consolidated'],
      thresholdPermille: 870,
      ageMsMax: Number.MAX_SAFE_INTEGER,
    },
    cache: createScreeningCache(),
    realNowMs: Date.now,
  };
  const rules = createRules({ ...base, rates: () => rates, limits: [] });
  const dispatcher = money.createDispatcherOf([rail], { rules, rates });
  const rescreen = createRescreening({ ...base, dispatcher, onError: assert.ifError });
  const owner = await money.createOwner({ USD: 100_000_000n });
  const payout = await money.quoteAndCommit(owner, { sourceMinor: amount });
  await dispatcher.drain();
  const change = async (lines: readonly string[]): Promise<void> => {
    await load(lines);
    while (await rescreen?.()) continue;
  };
  if (isSent) await change([first]);
  const services = {
    db: money.db,
    keys: money.keys,
    dispatcher,
    rates: () => rates,
    readPolicy: twoPersonsAbove(10_000),
  };
  const user = { accountId: owner.accountId, userId: owner.userId };
  return {
    payout,
    change,
    rail,
    dispatcher,
    user,
    services,
    status: async () => (await money.payout(payout.payoutId)).status,
    version: () => findPayoutVersion(money.db.system, payout),
    release: async (version?: string, name = 'ada', more: Partial<typeof services> = {}) => {
      const who = { ...(await person(name)), reason: 'somebody else' };
      const decision: Decision = { ...payout, action: 'release', version, ...who };
      return decidePayout({ ...services, ...more }, decision);
    },
    exception: async () => {
      const filter = { payoutId: payout.payoutId, kind: 'screening' };
      const page = { state: 'open', cursor: undefined, count: 10 } as const;
      const { rows } = await listExceptionPage(money.db, filter, page);
      assert.equal(rows.length, 1);
      return rows[0];
    },
    isCleared: async () => (await findScreening(money.db.system, user))?.isBlocked === false,
  };
}

const changed = { code: 'payout_changed' };

test('a hit that came after a person looked is not cleared by the release', async () => {
  const kit = await openHit();
  assert.equal(await kit.status(), 'HOLD');
  const seen = await kit.version();
  await kit.change([first, second]);
  await assert.rejects(kit.release(seen), changed);
  assert.deepEqual([await kit.status(), await kit.isCleared()], ['HOLD', false]);
  const entry = await kit.exception();
  assert.match(entry?.detail ?? '', /ofac_sdn 301 .*ofac_sdn 302 /);
  assert.equal(await kit.release(entry?.payout_version ?? ''), 'done');
  await kit.dispatcher.drain();
  assert.deepEqual([kit.rail.sends(), await kit.isCleared()], [1, true]);
});

test('a listed person whose entry has changed is not cleared by the release', async () => {
  const kit = await openHit();
  const seen = await kit.version();
  await kit.change([sdnLine({ id: 301, name: 'GOMEZ, Ana', remarks: 'DOB 1985.' })]);
  await assert.rejects(kit.release(seen), changed);
  assert.equal(await kit.isCleared(), false);
});

test('a hit that comes while a decision is recorded is not cleared by it', async () => {
  const kit = await openHit();
  const { readPolicy } = kit.services;
  const late = {
    readPolicy: async () => {
      await kit.change([first, second]);
      return readPolicy();
    },
  };
  await assert.rejects(kit.release(await kit.version(), 'ada', late), changed);
  assert.deepEqual([await kit.status(), await kit.isCleared()], ['HOLD', false]);
});

test('a release by two persons counts only where both saw the same hits', async () => {
  const kit = await openHit({ amount: 1_000_001n });
  assert.equal(await kit.release(undefined, 'ada'), 'waiting');
  await kit.change([first, second]);
  assert.equal(await kit.release(undefined, 'bob'), 'waiting');
  assert.equal(await kit.release(undefined, 'ada'), 'done');
  assert.equal(await kit.isCleared(), true);
});

test('lists that change nothing about the hits leave the version and the votes as they are', async () => {
  const kit = await openHit({ amount: 1_000_001n });
  const seen = await kit.version();
  assert.equal(await kit.release(seen, 'ada'), 'waiting');
  await kit.change([first, sdnLine({ id: 400, name: 'NOBODY, Else' })]);
  assert.equal(await kit.version(), seen);
  assert.equal(await kit.release(seen, 'bob'), 'done');
});

test('hits of a payout that was sent already are cleared as they were seen', async () => {
  const kit = await openHit({ isSent: true });
  assert.equal(await kit.status(), 'PROCESSING');
  const seen = await kit.version();
  await kit.change([first, second]);
  const decide = async (version: string) =>
    decideScreenedPayout(kit.services, {
      ...kit.payout,
      version,
      decision: 'cleared',
      decidedBy: 'ada',
      reason: 'somebody else',
    });
  await assert.rejects(decide(seen), changed);
  assert.equal(await kit.isCleared(), false);
  await decide(await kit.version());
  assert.equal(await kit.isCleared(), true);
});
