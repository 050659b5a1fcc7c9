import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { first, pay, rates } from '../../testing/setups/routes.ts';
import {
  type AttributeContext,
  formatAttributeToken,
  storeAttributes,
} from '../attributes/attributes.ts';
import { collectAttributes } from '../attributes/collected-attributes.ts';
import { getProfile } from '../attributes/requirements.ts';
import { AppError } from '../core/errors.ts';
import { compileCatalog } from '../destinations/catalog.ts';
import type { Rail, RecipientDraft } from '../rails/contract/contract.ts';
import { updateUser } from '../users/users.ts';
import { createPayout, openQuoteStore } from './payouts.ts';
import { type PayoutRequest } from './quote-request.ts';
import { findQuoteContexts } from './quotes.sql.ts';
import { describeRefusedRecipient, listPayoutFaults } from './recipient-check.ts';

/** A rail that requires the city of a recipient and refuses one account. */

let money: MoneyTest;
let owner: Owner;
const drafts: RecipientDraft[] = [];

const rail: Rail = {
  ...first(pay),
  checkRecipient: (draft) => {
    drafts.push(draft);
    const isTownless = draft.beneficiary.city === '';
    return [
      ...(isTownless
        ? [{ field: 'city', code: 'missing' as const, detail: 'the town is needed' }]
        : []),
      ...(draft.attributes !== undefined && draft.beneficiary.lastName === 'Gómez'
        ? [{ field: 'last_name', code: 'invalid' as const, detail: 'it cannot be written' }]
        : []),
    ];
  },
};
const catalog = compileCatalog([rail]);
const corridor = { countryCode: 'MEX', deliveryType: 'BANK_DEPOSIT', currency: 'MXN' } as const;

before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 100_000n });
});
after(() => money[Symbol.asyncDispose]());

function contextOf(): AttributeContext {
  return {
    session: money.db.tenant(owner.accountId),
    keys: money.keys,
    accountId: owner.accountId,
  };
}

async function quote() {
  const [payer] = catalog.payersIn('MEX');
  const request: PayoutRequest = {
    clientTransferId: undefined,
    sourceToken: undefined,
    sourceCurrency: 'USD',
    destinationToken: payer?.destinationToken,
    destinationCurrency: 'MXN',
    sourceAmount: '100',
    destinationAmount: undefined,
    attrSetToken: undefined,
    notifyUser: false,
    metadata: '{}',
    metadataHashes: [],
    schedule: undefined,
  };
  const services = {
    catalog,
    rails: [rail],
    keys: money.keys,
    rates: () => rates,
    clock: money.clock,
    scheduleDays: 3,
    lockSeconds: { national: 600, crypto: 60 },
  };
  const store = openQuoteStore(money.db.tenant(owner.accountId));
  return createPayout(services, { store, ...owner }, request);
}

async function listFaults(): Promise<string[]> {
  try {
    await quote();
    return [];
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'invalid_request');
    return (error.options.faults ?? []).map(({ code, detail }) => `${code} ${detail}`);
  }
}

async function storeValues(userId = owner.userId): Promise<void> {
  const profile = getProfile(corridor);
  const { sample } = collectAttributes(corridor);
  const [payer] = catalog.payersIn('MEX');
  assert.ok(payer !== undefined);
  await storeAttributes(contextOf(), {
    userId,
    destination: { payer, currency: 'MXN' },
    values: profile.requirements.map(({ type }) => ({
      token: formatAttributeToken(profile, type),
      value: sample[type] ?? '',
    })),
    attrSetToken: undefined,
    today: '2026-01-01',
  });
}

test('a quote without an attribute set does not take the destination of any', async () => {
  const userId = await money.createUser(owner.accountId);
  await storeValues(userId);
  const [context] = await findQuoteContexts(contextOf().session, owner.accountId, [
    {
      userId,
      sourceToken: undefined,
      sourceCurrency: 'USD',
      attrSetId: undefined,
      clientTransferId: undefined,
    },
  ]);
  assert.equal(context?.wallet_currency, 'USD');
  assert.equal(context.set_destination, null);
});

test('a payout that the rail cannot pay is neither quoted nor committed', async () => {
  assert.deepEqual(await listFaults(), ['recipient_missing city: the town is needed']);
  assert.equal(drafts.at(-1)?.attributes, undefined);
  await updateUser(contextOf(), owner.userId, { city: 'Puebla' });
  const early = await quote();
  const session = money.db.tenant(owner.accountId);
  const services = { keys: money.keys, rails: [rail] };
  const refuse = async (payoutId: string) => {
    const refused = await listPayoutFaults(services, session, { ...owner, payoutId });
    return refused === undefined ? undefined : describeRefusedRecipient(refused);
  };
  assert.equal(await refuse(early.id), undefined, 'its attributes are asked for first');

  await storeValues();
  const [obstacle, ...others] = (await refuse(early.id)) ?? [];
  assert.equal(others.length, 0);
  assert.equal(obstacle?.code, 'recipient_invalid');
  assert.equal(obstacle.detail, 'last_name: it cannot be written');
  assert.deepEqual(
    obstacle.missing?.map(({ field, code, why }) => [field, code, why]),
    [['last_name', 'recipient_invalid', 'it cannot be written']],
  );
  assert.equal(drafts.at(-1)?.amountMinor, early.destination_amount);
  assert.match(drafts.at(-1)?.attributes?.['BankAccountNumber'] ?? '', /^\d{18}$/);
  await updateUser(contextOf(), owner.userId, { city: '' });
  assert.deepEqual(await listFaults(), [
    'recipient_missing city: the town is needed',
    'recipient_invalid last_name: it cannot be written',
  ]);

  await updateUser(contextOf(), owner.userId, { city: 'Puebla', last_name: 'Gomez' });
  assert.equal(await refuse(early.id), undefined);
  assert.equal((await money.commit(owner, early.id)).result, 'success');
  await updateUser(contextOf(), owner.userId, { city: '' });
  assert.equal(await refuse(early.id), undefined, 'what was committed stays so');
  await money.assertSound();
});
