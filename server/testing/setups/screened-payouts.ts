import assert from 'node:assert/strict';
import { type AttributeValues } from '../../src/attributes/attribute-values.ts';
import {
  corridorOf,
  formatAttributeToken,
  storeAttributes,
} from '../../src/attributes/attributes.ts';
import type { AttributeType } from '../../src/attributes/field.ts';
import { getProfile } from '../../src/attributes/requirements.ts';
import { decidePayout } from '../../src/exceptions/decisions.ts';
import { listExceptionPage } from '../../src/exceptions/exceptions.ts';
import type { NewSchedule } from '../../src/payouts/schedules.sql.ts';
import type { RailAnswer } from '../../src/rails/contract/contract.ts';
import { createRescreening } from '../../src/rules/rescreening.ts';
import { createRules, type ScreeningSettings } from '../../src/rules/rules.ts';
import type { VelocityLimit } from '../../src/rules/velocity.ts';
import { createScreeningCache } from '../../src/screening/screening.ts';
import { createRates, sandboxCatalog } from './destinations.ts';
import { type CommittedPayout, createFakeRail, createMoneyTest, type Owner } from './money.ts';
import { twoPersonsAbove } from './policy.ts';
import { asFile, loadLists, sdnLine, sdnLines } from './screening.ts';

/** Payouts that are screened before they are sent, and when a list changes. */

export const wallet = '0x7F367cC41522cE07553e823bf3be79A889DEbe1B';
export const otherWallet = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
export const walletLine = sdnLine({
  id: 300,
  name: 'KREST, Daniil',
  type: 'individual',
  remarks: `DOB 1990; Digital Currency Address - ETH ${wallet}.`,
});
export const bankLine = sdnLine({
  id: 304,
  name: 'OSTSEE LICHTBANK',
  remarks: 'SWIFT/BIC OLIBDEFF.',
});
export const withWallet = asFile([...sdnLines, walletLine, bankLine]);
export const withUserName = asFile([
  ...sdnLines,
  walletLine,
  bankLine,
  sdnLine({ id: 301, name: 'GOMEZ, Ana' }),
]);

export const screening = {
  lists: ['ofac_sdn', 'un_consolidated'],
  thresholdPermille: 870,
  ageMsMax: Number.MAX_SAFE_INTEGER,
};
export const blocking = { ...screening, blockedCountries: ['CHN'] };
type Answers = {
  send?: RailAnswer;
  cancel?: RailAnswer;
  screening?: ScreeningSettings;
  limits?: readonly VelocityLimit[];
};

type To = {
  country: string;
  deliveryType: string;
  currency: string;
  values: AttributeValues;
  schedule?: NewSchedule;
};

export type ScreenedPayouts = Awaited<ReturnType<typeof createScreenedPayouts>>;

export async function createScreenedPayouts() {
  const money = await createMoneyTest();
  async function load(sdn: string): Promise<void> {
    const reports = await loadLists(money.db, { sdn }, { acceptWarnings: true });
    assert.ok(reports.every(({ ok }) => ok));
  }

  const createOwner = () => money.createOwner({ USD: 10_000_000n });

  function open(answers: Answers = {}) {
    const { send = { outcome: 'paid' }, cancel, limits = [] } = answers;
    const { screening: settings = screening } = answers;
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
    const rules = createRules({ ...base, rates: () => rates, limits });
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
  await load(withWallet);
  return { money, load, createOwner, open, payTo, payWallet, payCard, payBank, findException };
}
