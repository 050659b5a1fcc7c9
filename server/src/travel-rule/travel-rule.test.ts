import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createFakeRail, createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { column, defineQuery, one } from '../db/rows.ts';
import type { Beneficiary, Instruction } from '../rails/contract/contract.ts';
import type { TravelMessage } from './provider.ts';
import type { TravelRule } from './rules.ts';
import { createTravelRules, type SendingPayout } from './travel-rule.ts';

/** What was accepted counts for the message that was accepted, however long the payout waits after it. */

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const beneficiary: Beneficiary = {
  firstName: 'Amara',
  middleName: '',
  lastName: 'Okafor',
  businessName: '',
  address1: '4 Marina Road',
  address2: '',
  city: 'Lagos',
  stateProvince: '',
  postalCode: '',
  countryCode: 'NGA',
  email: '',
  mobileNumber: '',
  dateOfBirth: '',
};

const rule = (name: string): TravelRule => ({
  name,
  sender: [],
  recipient: [],
  passOn: true,
});

async function preparePayout(): Promise<{ payout: SendingPayout; instruction: Instruction }> {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { id: payoutId } = await money.quote(owner);
  await money.rows(
    `insert into account_senders values ($1, 'Muster GmbH', 'Beispielweg 7', 'Bonn', '', '', 'DEU', '',
       '', '', now())`,
    [owner.accountId],
  );
  const { data_key: dataKey } = await one(
    money.db.system,
    defineQuery({
      name: 'data_key_of_user',
      text: 'select data_key from users where id = $1',
      columns: { data_key: column.bytes },
    }),
    [owner.userId],
  );
  const payout = { ...owner, payoutId, userKey: money.keys.unwrap(dataKey, owner) };
  const instruction = {
    reference: 'r1',
    payerKey: 'one',
    countryCode: 'NGA',
    deliveryType: 'BANK_DEPOSIT',
    currency: 'USD',
    amountMinor: 10_000n,
    beneficiary,
    attributes: {},
    originator: { accountId: owner.accountId, name: 'shop' },
  } as unknown as Instruction;
  return { payout, instruction };
}

test('an acceptance does not count for other data, nor for a rule that came later', async () => {
  const asked: TravelMessage[] = [];
  const create = (...rules: TravelRule[]) =>
    createTravelRules({
      rules,
      provider: {
        name: 'provider',
        passOn: async (message) => {
          asked.push(message);
          return { state: 'accepted', reference: '' };
        },
      },
      rates: () => ({}) as never,
      session: money.db.system,
      onError: (error) => assert.fail(String(error)),
      nowMs: Date.now,
    });
  const rail = createFakeRail(() => ({ outcome: 'accepted' }));
  const { payout, instruction } = await preparePayout();
  const prepare = (given: Instruction, ...rules: TravelRule[]) =>
    create(...rules).prepare(rail, given, payout);

  assert.ok('instruction' in (await prepare(instruction, rule('one'))));
  await prepare(instruction, rule('one'));
  assert.equal(asked.length, 1, 'the same is not asked again');

  const moved = { ...instruction, beneficiary: { ...beneficiary, city: 'Abuja' } };
  assert.ok('instruction' in (await prepare(moved, rule('one'))));
  assert.equal(asked.length, 2, 'the recipient has moved');
  assert.match(JSON.stringify(asked[1]), /Abuja/);

  await prepare(moved, rule('one'), rule('two'));
  assert.deepEqual(asked[2]?.rules, ['one', 'two'], 'another rule asks for it');
  await prepare(moved, rule('two'));
  assert.equal(asked.length, 3, 'a rule that went changes nothing');

  await money.rows(`update account_senders set city = 'Köln' where account_id = $1`, [
    payout.accountId,
  ]);
  await prepare(moved, rule('two'));
  assert.match(JSON.stringify(asked[3]), /Köln/, 'the sender has moved');
});
