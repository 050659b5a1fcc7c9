import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { createRates, sandboxCatalog } from '../../testing/setups/destinations.ts';
import {
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { twoPersonsAbove } from '../../testing/setups/policy.ts';
import { asFile, loadLists, sdnLine, sdnLines } from '../../testing/setups/screening.ts';
import { type AttributeValues } from '../attributes/attribute-values.ts';
import { corridorOf, formatAttributeToken, storeAttributes } from '../attributes/attributes.ts';
import type { AttributeType } from '../attributes/field.ts';
import { getProfile } from '../attributes/requirements.ts';
import { decidePayout } from '../exceptions/decisions.ts';
import { listExceptionPage } from '../exceptions/exceptions.ts';
import type { NewSchedule } from '../payouts/schedules.sql.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';
import { listPayoutScreenings, wasScreened } from '../screening/payout-screenings.ts';
import { createScreeningCache } from '../screening/screening.ts';
import { listWaitingPayouts } from './recipient-rescreening.ts';
import { createRescreening } from './rescreening.ts';
import { createRules, type ScreeningSettings } from './rules.ts';
import { decideScreenedPayout } from './screening-decisions.ts';

/** Screening of payouts before they are sent, and while they are in flight when a list changes. */

const wallet = '0x7F367cC41522cE07553e823bf3be79A889DEbe1B';
const otherWallet = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const walletLine = sdnLine({
  id: 300,
  name: 'KREST, Daniil',
  type: 'individual',
  remarks: `DOB 1990; Digital Currency Address - ETH ${wallet}.`,
});
const bankLine = sdnLine({ id: 304, name: 'OSTSEE LICHTBANK', remarks: 'SWIFT/BIC OLIBDEFF.' });
const withWallet = asFile([...sdnLines, walletLine, bankLine]);
const withUserName = asFile([
  ...sdnLines,
  walletLine,
  bankLine,
  sdnLine({ id: 301, name: 'GOMEZ, Ana' }),
]);

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
  await load(withWallet);
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

async function load(sdn: string): Promise<void> {
  const reports = await loadLists(money.db, { sdn }, { acceptWarnings: true });
  assert.ok(reports.every(({ ok }) => ok));
}

const screening = {
  lists: ['ofac_sdn', 'un_consolidated'],
  thresholdPermille: 870,
  ageMsMax: Number.MAX_SAFE_INTEGER,
};
const blocking = { ...screening, blockedCountries: ['CHN'] };
const createOwner = () => money.createOwner({ USD: 10_000_000n });

type Answers = { send?: RailAnswer; cancel?: RailAnswer; screening?: ScreeningSettings };

function open(answers: Answers = {}) {
  const { send = { outcome: 'paid' }, cancel, screening: settings = screening } = answers;
  const fake = createFakeRail(({ kind }) => (kind === 'send' ? send : { outcome: 'accepted' }));
  const cancels: string[] = [];
  const rail = {
    ...fake,
    ...(cancel !== undefined && {
      cancel: async ({ reference }: { reference: string }) => {
        cancels.push(reference);
        return cancel;
      },
    }),
  };
  const base = {
    db: money.db,
    keys: money.keys,
    screening: settings,
    cache: createScreeningCache(),
    realNowMs: Date.now,
  };
  const rates = createRates({});
  const rules = createRules({ ...base, rates: () => rates, limits: [] });
  assert.ok(rules !== undefined);
  const dispatcher = money.createDispatcherOf([rail], { rules });
  const rescreen = createRescreening({ ...base, dispatcher, onError: assert.ifError });
  assert.ok(rescreen !== undefined);
  return {
    rail: fake,
    cancels: ({ reference: asked }: CommittedPayout) =>
      cancels.filter((reference) => reference === asked).length,
    dispatcher,
    rescreen: async () => {
      while (await rescreen()) continue;
    },
    settle: async (payout: CommittedPayout) => {
      await dispatcher.drain();
      assert.deepEqual(dispatcher.errors, []);
      return (await money.payout(payout.payoutId)).status;
    },
    release: (payout: CommittedPayout) =>
      decidePayout(
        {
          db: money.db,
          keys: money.keys,
          dispatcher,
          rates: () => rates,
          readPolicy: twoPersonsAbove(10_000),
        },
        {
          ...payout,
          action: 'release',
          decidedBy: 'Ada',
          operatorId: '00000000-0000-7000-8000-0000000000aa',
          reason: 'somebody else',
        },
      ),
  };
}

type To = {
  country: string;
  deliveryType: string;
  currency: string;
  values: AttributeValues;
  schedule?: NewSchedule;
};

/** A committed payout with stored attributes. */
async function payTo(owner: Owner, { country, deliveryType, currency, values, ...more }: To) {
  const payer = sandboxCatalog
    .payersIn(country)
    .find((one) => one.deliveryType === deliveryType && one.currencies.includes(currency));
  assert.ok(payer !== undefined);
  const destination = { payer, currency };
  const profile = getProfile(corridorOf(destination));
  const { accountId, userId } = owner;
  const { setId: attrSetId } = await money.db.tenantTransaction(accountId, (session) =>
    storeAttributes(
      { session, keys: money.keys, accountId },
      {
        userId,
        destination,
        values: Object.entries(values).map(([type, value]) => ({
          token: formatAttributeToken(profile, type as AttributeType),
          value,
        })),
        attrSetToken: undefined,
        today: '2026-03-01',
      },
    ),
  );
  return money.quoteAndCommit(owner, {
    attrSetId,
    deliveryType,
    countryCode: country,
    destinationToken: payer.destinationToken,
    destinationCurrency: currency,
    ...more,
  });
}

const payWallet = (owner: Owner, address: string, currency = 'ETH') =>
  payTo(owner, {
    country: 'MEX',
    deliveryType: 'CRYPTOCURRENCY',
    currency,
    values: { BankAccountNumber: address },
  });
const payCard = (owner: Owner, holder: string) =>
  payTo(owner, {
    country: 'CHN',
    deliveryType: 'BANK_DEPOSIT',
    currency: 'CNY',
    values: { BankAccountNumber: '6212345678901232', BankAccountName: holder },
  });

/** In euros to Germany. */
const payBank = (owner: Owner, values: AttributeValues) =>
  payTo(owner, { country: 'DEU', deliveryType: 'BANK_DEPOSIT', currency: 'EUR', values });

async function findException({ payoutId }: CommittedPayout) {
  const { rows } = await listExceptionPage(
    money.db,
    {},
    { state: 'open', cursor: undefined, count: 1000 },
  );
  return rows.find((row) => row.payout_id === payoutId && row.kind === 'screening');
}

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
});

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
