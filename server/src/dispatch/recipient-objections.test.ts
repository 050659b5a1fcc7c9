import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { createCompany, createPayer, createRates } from '../../testing/setups/destinations.ts';
import {
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { formatAttributeToken, storeAttributes } from '../attributes/attributes.ts';
import { collectAttributes } from '../attributes/collected-attributes.ts';
import { getProfile } from '../attributes/requirements.ts';
import { getRate } from '../core/rate.ts';
import { createCurrentCatalog, getDestinationToken } from '../destinations/catalog.ts';
import { decidePayout } from '../exceptions/decisions.ts';
import type { Rail, RailAnswer, RecipientFault } from '../rails/contract/contract.ts';
import type { PayerRequirements, RequiredField } from '../rails/contract/requirements.ts';
import { nameDestination } from '../rails/host/requirements.ts';
import { explainPayout } from './explain.ts';

/** A payer that refuses, and others of its name that ask for more of the recipient. */

const rates = createRates({ 'USD/MXN': getRate('20') });
const city: RecipientFault = { field: 'city', code: 'missing', detail: 'it is required' };

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 10_000_000n });
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

type Others = {
  checkRecipient?: Rail['checkRecipient'];
  answer?: RailAnswer;
  marginBasisPoints?: number;
};

function createRail(name: string, options: Others = {}) {
  const { answer = { outcome: 'paid' }, marginBasisPoints = 100, checkRecipient } = options;
  const isDynamicToken = name === 'first';
  return {
    ...createFakeRail(() => answer),
    name,
    companies: [createCompany('first')],
    payers: [createPayer(name, { isDynamicToken, marginBasisPoints })],
    ...(checkRecipient && { checkRecipient }),
  };
}

const refusing = () =>
  createRail('first', { answer: { outcome: 'rejected', reason: 'payer_unavailable' } });

const corridor = { countryCode: 'MEX', deliveryType: 'BANK_DEPOSIT', currency: 'MXN' } as const;

/** What the payer of this rail asks for: the account, and another attribute. */
function requireAttribute(rail: string, attribute: string) {
  const field = (key: string, type: string): RequiredField => ({
    key,
    attribute: type,
    isCompact: false,
    label: key,
    input: 'text',
    isRequired: true,
    isRefreshing: false,
  });
  const fields = [field('clabe', 'BankAccountNumber'), field('extra', attribute)];
  const forms = [{ type: 'account', fields }];
  const key = { payerKey: rail, currency: 'MXN', given: {} };
  const asked: PayerRequirements = {
    version: 1,
    variants: [{ ...key, forms, version: 1, readAtMs: 0 }],
  };
  return new Map([[rail, new Map([[nameDestination(rail, 'MXN'), asked]])]]);
}

/** Commits a payout through the first rail with the details that it asks for. */
async function pay(rails: readonly Rail[], requirements: ReturnType<typeof requireAttribute>) {
  const catalog = createCurrentCatalog(rails, money.clock, {
    listPrices: () => [],
    listRequirements: () => requirements,
  });
  const destinationToken = getDestinationToken('first', 'first');
  const payer = catalog().findPayer(destinationToken);
  assert.ok(payer !== undefined);
  const { accountId, userId } = owner;
  const profile = getProfile(corridor);
  const { sample } = collectAttributes(corridor);
  const { setId: attrSetId } = await money.db.tenantTransaction(accountId, (session) =>
    storeAttributes(
      { session, keys: money.keys, accountId },
      {
        userId,
        destination: { payer, currency: 'MXN' },
        values: profile.requirements.map(({ type }) => ({
          token: formatAttributeToken(profile, type),
          value: sample[type] ?? '',
        })),
        attrSetToken: undefined,
        today: '2026-01-01',
      },
    ),
  );
  const payout = await money.quoteAndCommit(owner, {
    rail: 'first',
    payerKey: 'first',
    destinationToken,
    destinationMinor: 190_000n,
    attrSetId,
    needsAttributes: true,
  });
  const dispatcher = money.createDispatcherOf(rails, { rates, catalog });
  for (let round = 0; round < 4; round += 1) await dispatcher.runDue();
  assert.deepEqual(dispatcher.errors, []);
  const { router } = dispatcher;
  const explained = await explainPayout({ session: money.db.system, router }, payout);
  const rules = explained.decisions.map(({ candidates }) =>
    Object.fromEntries(
      candidates.map((one) => [
        one.destination_token,
        one.is_chosen ? 'chosen' : `${one.excluded_by} ${one.detail}`,
      ]),
    ),
  );
  const ruleOf = (rail: string) => rules.map((one) => one[getDestinationToken(rail, rail)]);
  return { payout, explained, dispatcher, ruleOf };
}

const noRequirements: ReturnType<typeof requireAttribute> = new Map();

describe('a payout whose payer refuses', () => {
  it('goes to no payer whose rail misses details of the recipient', async () => {
    const demanding = createRail('demanding', { checkRecipient: () => [city] });
    const good = createRail('good', { marginBasisPoints: 300 });
    const { explained, ruleOf } = await pay([refusing(), demanding, good], noRequirements);
    assert.deepEqual([explained.status, demanding.sends(), good.sends()], ['COMPLETED', 0, 1]);
    const missing = "details_missing of the recipient's details, missing: city";
    assert.deepEqual(ruleOf('demanding'), [missing, missing]);
    const another = 'named_another the client named another payer; this one may take over';
    assert.deepEqual(ruleOf('good'), [another, 'chosen']);
  });

  it('goes to no payer that requires an attribute that is not stored', async () => {
    const other = createRail('other');
    const requirements = requireAttribute('other', 'IdentificationNumber');
    const { payout, explained, dispatcher, ruleOf } = await pay([refusing(), other], requirements);
    assert.deepEqual([explained.status, other.sends()], ['ERROR', 0]);
    assert.deepEqual(
      explained.exceptions.map(({ kind }) => kind),
      ['routes_exhausted'],
    );
    const missing = "details_missing of the recipient's details, missing: IdentificationNumber";
    assert.deepEqual(ruleOf('other'), [missing, missing]);
    const services = {
      db: money.db,
      keys: money.keys,
      dispatcher,
      rates: () => rates,
      readPolicy: async () => ({ persons: 1, aboveUsd: 0n }) as const,
    };
    const operatorId = '00000000-0000-7000-8000-0000000000aa';
    const decision = { action: 'retry', decidedBy: 'ada', operatorId, reason: 'a test' } as const;
    await assert.rejects(decidePayout(services, { ...payout, ...decision }), /no other payer/);
  });

  it('goes to a payer that is checked with the stored details and lacks none', async () => {
    const drafts: unknown[] = [];
    const other = createRail('other', {
      checkRecipient: ({ payerKey, amountMinor, attributes, beneficiary }) => {
        drafts.push([payerKey, amountMinor, attributes, beneficiary.firstName]);
        return [];
      },
    });
    const { explained, ruleOf } = await pay([refusing(), other], noRequirements);
    assert.deepEqual([explained.status, ruleOf('other').at(-1)], ['COMPLETED', 'chosen']);
    const { sample } = collectAttributes(corridor);
    const { BankAccountNumber } = sample;
    assert.deepEqual(drafts.at(-1), ['other', 190_000n, { BankAccountNumber }, 'Ana']);
  });

  it('says why a rail does not pay such a recipient, where no details would help', async () => {
    const detail = 'it does not pay to this bank';
    const fault: RecipientFault = { field: 'BankAccountNumber', code: 'not_served', detail };
    const other = createRail('other', { checkRecipient: () => [fault] });
    const { explained, ruleOf } = await pay([refusing(), other], noRequirements);
    assert.deepEqual([explained.status, other.sends()], ['ERROR', 0]);
    const refused = `recipient_refused BankAccountNumber: ${detail}`;
    assert.deepEqual(ruleOf('other'), [refused, refused]);
  });
});
