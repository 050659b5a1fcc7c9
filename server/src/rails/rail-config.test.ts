import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { collectAttributes } from '../attributes/collected-attributes.ts';
import { readRailConfigs, sealedPrefix } from './rail-config.ts';
import { openTestHost, type TestHost } from './rail-test-setup.ts';
import { loadRailModules, openRails } from './registry.ts';

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'outlay-rails-'));
});
after(() => rmSync(folder, { recursive: true }));

const payer = {
  key: 'bank',
  companyKey: 'own',
  payerName: 'Bank',
  countryCode: 'DEU',
  deliveryType: 'BANK_DEPOSIT',
  currencies: ['EUR'],
  tariffs: [{ fee: [{ upTo: null, fixed: '1', basisPoints: 0 }] }],
  availability: { delay: { minutes: 5 } },
};

const rail = (changes: object = {}) => ({
  kind: 'partner',
  name: 'cash_mx',
  config: {},
  companies: [{ key: 'own', name: 'Own' }],
  payers: [payer],
  ...changes,
});

function read(rails: readonly object[], variables: Readonly<Record<string, string>> = {}) {
  const path = join(folder, 'rails.json');
  writeFileSync(path, JSON.stringify({ rails }));
  return readRailConfigs(path, {
    readVariable: (name) => variables[name],
    openSealed: (sealed) => {
      if (sealed.toString() !== 'sealed') throw new Error('wrong key');
      return Buffer.from('opened');
    },
  });
}

describe("the operator's file of rails", () => {
  it('has what is usual where nothing is said', () => {
    const [config] = read([rail({ dailyLimits: { EUR: '1000.50', BTC: '0.5' } })]);
    assert.deepEqual(config?.dailyLimits, { EUR: 100_050n, BTC: 50_000_000n });
    assert.deepEqual(config?.payers[0]?.tariffs[0]?.minLimit, '0');
    assert.deepEqual(config?.payers[0]?.verification, { kind: 'never' });
  });

  it('names every fault, and no value', () => {
    const wrong = rail({ name: 'Cash', dailyLimits: { EUR: 'secret' }, colour: 'red' });
    assert.throws(
      () => read([wrong]),
      (error: Error) =>
        /rails\.0\.name/.test(error.message) &&
        /rails\.0\.dailyLimits/.test(error.message) &&
        /colour/.test(error.message),
    );
  });

  it('takes secrets from variables and files, at any depth', () => {
    writeFileSync(join(folder, 'plain'), 'from a file\n');
    writeFileSync(
      join(folder, 'sealed'),
      `${sealedPrefix}${Buffer.from('sealed').toString('base64')}`,
    );
    const config = {
      keys: [{ env: 'KEY' }, { file: join(folder, 'plain') }],
      deep: { key: { file: join(folder, 'sealed') } },
    };
    const [read1] = read([rail({ config })], { KEY: 'from a variable' });
    assert.deepEqual(read1?.config, {
      keys: ['from a variable', 'from a file'],
      deep: { key: 'opened' },
    });
  });

  it('says which secret is missing, or sealed under another key', () => {
    assert.throws(() => read([rail({ config: { env: 'GONE' } })]), /GONE is not set/);
    const file = join(folder, 'other');
    writeFileSync(file, `${sealedPrefix}${Buffer.from('other').toString('base64')}`);
    assert.throws(() => read([rail({ config: { file } })]), /another master key/);
  });

  it('refuses a name that is taken', () => {
    assert.throws(() => read([rail(), rail()]), /the name cash_mx is taken/);
    assert.throws(() => read([rail({ name: 'sandbox' })]), /the name sandbox is taken/);
  });
});

describe('opening rails', () => {
  let host: TestHost;
  before(async () => {
    host = await openTestHost({ name: 'any' });
  });
  after(() => host.close());
  const open = (rails: readonly object[]) =>
    openRails(read(rails), {
      createHost: () => host,
      collectAttributes: (one, currency) => collectAttributes({ ...one, currency }),
    });

  it('finds a kind for every folder', async () => {
    const kinds = [...(await loadRailModules()).keys()];
    assert.deepEqual(kinds, ['evm', 'fspiop', 'iso20022', 'nacha', 'partner', 'utxo']);
  });

  it('refuses a kind that there is not', async () => {
    await assert.rejects(open([rail({ kind: 'pigeon' })]), /no kind pigeon; there are/);
  });

  it('refuses a corridor that the kind does not have', async () => {
    const wrong = rail({ kind: 'nacha', payers: [{ ...payer, deliveryType: 'CASH_PICKUP' }] });
    await assert.rejects(open([wrong]), /no CASH_PICKUP of EUR in DEU/);
  });

  const bank = (payers: readonly object[]) =>
    rail({
      kind: 'iso20022',
      config: {
        messagePrefix: 'T1',
        initiatingParty: { name: 'Tests' },
        debtors: [
          {
            key: 'main',
            name: 'Tests',
            country: 'DE',
            town: 'Berlin',
            iban: 'DE89370400440532013000',
            currencies: ['EUR', 'USD', 'MXN', 'BRL', 'GBP'],
          },
        ],
        schedule: {},
        exchange: { mode: 'directory', folder },
      },
      payers,
    });

  it('refuses payers whose attributes can never fill an instruction, all at once', async () => {
    const mexico = { ...payer, key: 'mx', countryCode: 'MEX', currencies: ['MXN'] };
    const brazil = { ...payer, key: 'br', countryCode: 'BRA', currencies: ['USD', 'BRL'] };
    await assert.rejects(open([bank([mexico, brazil, payer])]), (error: Error) => {
      assert.match(error.message, /payer mx \(MEX, MXN\): .*no bank that this rail can name/);
      assert.match(error.message, /payer br \(BRA, BRL\): /);
      assert.doesNotMatch(error.message, /USD|DEU/);
      return true;
    });
  });

  it('opens payers whose recipients are asked for a bank', async () => {
    const britain = { ...payer, key: 'gb', countryCode: 'GBR', currencies: ['GBP'] };
    const america = { ...payer, key: 'us', countryCode: 'USA', currencies: ['USD'] };
    const mexico = { ...payer, key: 'mx', countryCode: 'MEX', currencies: ['USD'] };
    const [opened] = await open([bank([payer, britain, america, mexico])]);
    assert.equal(opened?.payers.length, 4);
  });

  it('refuses a bank folder that is missing', async () => {
    const { config, ...other } = bank([payer]);
    const exchange = { mode: 'directory', folder: join(folder, 'not-mounted') };
    await assert.rejects(
      open([{ ...other, config: { ...config, exchange } }]),
      /the folder .*not-mounted does not exist/,
    );
  });

  it('refuses a config with what is wrong in it', async () => {
    await assert.rejects(open([rail({ config: { nothing: 1 } })]), /rail cash_mx: config: /);
  });
});
