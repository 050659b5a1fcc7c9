import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openTestHost, type TestHost } from '../../../testing/setups/rail.ts';
import { collectAttributes } from '../../attributes/collected-attributes.ts';
import {
  describeRailFaults,
  readRailFile,
  type SecretSources,
  sealedPrefix,
} from './rail-config.ts';
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

const variables: Record<string, string> = {};
const secrets: SecretSources = {
  readVariable: (name) => variables[name],
  openSealed: (sealed) => {
    if (sealed.toString() !== 'sealed') throw new Error('wrong key');
    return Buffer.from('opened');
  },
};

function write(rails: readonly object[]): string {
  const path = join(folder, 'rails.json');
  writeFileSync(path, JSON.stringify({ rails }));
  return path;
}

const read = (rails: readonly object[]) => {
  const path = write(rails);
  const { configs, faults } = readRailFile(path, secrets);
  if (faults.length > 0) throw new Error(describeRailFaults(path, faults));
  return configs;
};
const readFile = (rails: readonly object[]) => readRailFile(write(rails), secrets);

const key = (id: string) => ({
  id,
  algorithm: 'hmac-sha256',
  key: Buffer.alloc(32, id).toString('base64'),
});
const partnerConfig = {
  baseUrl: 'http://127.0.0.1:9',
  signingKey: key('ours'),
  partnerKeys: [key('theirs')],
};

describe("the operator's file of rails", () => {
  it('has what is usual where nothing is said', () => {
    const [config] = read([rail({ dailyLimits: { EUR: '1000.50', BTC: '0.5' } })]);
    assert.deepEqual(config?.dailyLimits, { EUR: 100_050n, BTC: 50_000_000n });
    assert.deepEqual(config?.payers[0]?.tariffs[0]?.minLimit, '0');
    assert.deepEqual(config?.payers[0]?.verification, { kind: 'never' });
  });

  it('says how prices of a provider are used', () => {
    const readPrices = (prices: object) => readFile([rail({ prices })]);
    assert.deepEqual(readPrices({ bearBasisPoints: 0 }).configs[0]?.prices, {
      everySeconds: 60,
      maxAgeSeconds: 900,
      bearBasisPoints: 0,
    });
    assert.match(readPrices({ everySeconds: 1 }).faults[0]?.text ?? '', /prices\.everySeconds: /);
    assert.match(
      readPrices({ everySeconds: 600, maxAgeSeconds: 60 }).faults[0]?.text ?? '',
      /prices: everySeconds must be at most maxAgeSeconds/,
    );
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

  it('names the permitted values', () => {
    const availability = { calendar: 'TARGET', weekend: [7], cutOff: '9 am', delay: { days: 1 } };
    const wrong = rail({
      payers: [{ ...payer, availability, deliveryType: 'SEPA', countryCode: 'DE' }],
    });
    const { faults } = readFile([wrong]);
    const texts = faults.map(({ text }) => text.replace('rail cash_mx: payers.0.', ''));
    assert.deepEqual(texts.toSorted(), [
      'availability.calendar: must be null or the ISO 3166-1 alpha-2 code of the country whose public holidays count, such as DE, MX or US',
      'availability.cutOff: must be a local time HH:MM, such as 16:30',
      'availability.delay: must be {"minutes": N}, or {"businessDays": N, "arrival": "HH:MM"}, with whole numbers',
      'availability.weekend: must be weekdays from 0 (Sunday) to 6 (Saturday), each once and not all, such as [0, 6]',
      'countryCode: must be an ISO 3166-1 alpha-3 code, such as MEX',
      'deliveryType: Invalid option: expected one of "CASH_PICKUP"|"BANK_DEPOSIT"|"HOME_DELIVERY"|"MOBILE_WALLET"|"PAPER_CHECK"|"BILL"|"CRYPTOCURRENCY"',
    ]);
  });

  it('names the faults of every rail at once, and reads the rails without one', () => {
    const config = { a: { env: 'GONE' }, b: { env: 'LOST' } };
    const { configs, faults } = readFile([
      rail({ name: 'first', payers: 1, config }),
      rail({ name: 'second' }),
      rail({ name: 'third', companies: 'none' }),
    ]);
    assert.deepEqual(
      configs.map(({ name }) => name),
      ['second'],
    );
    assert.deepEqual(
      faults.map(({ rail: name, text }) => [name, text.split(': ')[1]]),
      [
        ['first', 'payers'],
        ['first', 'the environment variable GONE is not set'],
        ['first', 'the environment variable LOST is not set'],
        ['third', 'companies'],
      ],
    );
  });

  it('is distinguished from a file that is missing, not JSON, or of another form', () => {
    const path = join(folder, 'rails.json');
    const listTexts = (text: string) => {
      writeFileSync(path, text);
      return readRailFile(path, secrets).faults.map((fault) => fault.text);
    };
    assert.deepEqual(listTexts('{'), ['the file must be JSON']);
    assert.match(listTexts('{"rails":{}}').join(), /^rails: /);
    assert.match(listTexts('[]').join(), /^the file: /);
    const [missing] = readRailFile(join(folder, 'none.json'), secrets).faults;
    assert.match(missing?.text ?? '', /cannot be read/);
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
    variables['KEY'] = 'from a variable';
    const [read1] = read([rail({ config })]);
    assert.deepEqual(read1?.config, {
      keys: ['from a variable', 'from a file'],
      deep: { key: 'opened' },
    });
  });

  it('says which secret is missing, or sealed under another key', () => {
    assert.throws(() => read([rail({ config: { env: 'GONE' } })]), /GONE is not set/);
    const file = join(folder, 'other');
    writeFileSync(file, `${sealedPrefix}${Buffer.from('other').toString('base64')}`);
    assert.throws(
      () => read([rail({ config: { file } })]),
      /sealed under keys that this environment does not have/,
    );
  });

  it('refuses a name that is taken', () => {
    assert.throws(() => read([rail(), rail()]), /the name cash_mx is already in use/);
    assert.throws(() => read([rail({ name: 'sandbox' })]), /the name sandbox is already in use/);
  });
});

describe('opening rails', () => {
  let host: TestHost;
  before(async () => {
    host = await openTestHost({ name: 'any' });
  });
  after(() => host.close());
  const open = async (configs: readonly object[]) => {
    const { rails, faults } = await openRails(read(configs), {
      createHost: () => host,
      collectAttributes: (one, currency) => collectAttributes({ ...one, currency }),
    });
    if (faults.length > 0) throw new Error(faults.map(({ text }) => text).join('\n'));
    return rails;
  };

  it('finds a kind for every folder', async () => {
    const kinds = [...(await loadRailModules()).keys()];
    const known = 'adyen evm fspiop iso20022 nacha partner paypal solana utxo wise';
    assert.deepEqual(kinds, known.split(' '));
  });

  it('refuses a kind that there is not', async () => {
    await assert.rejects(open([rail({ kind: 'pigeon' })]), /kind must be one of .*, not pigeon/);
  });

  it('refuses rules for prices of a rail that quotes none', async () => {
    await assert.rejects(
      open([rail({ config: partnerConfig, prices: {} })]),
      /rail cash_mx: prices must be absent, because this rail quotes none/,
    );
  });

  it('refuses a corridor that the kind does not have', async () => {
    const wrong = rail({ kind: 'nacha', payers: [{ ...payer, deliveryType: 'CASH_PICKUP' }] });
    await assert.rejects(open([wrong]), /does not serve CASH_PICKUP of EUR in DEU/);
  });

  it('refuses a form of account that the kind does not take', async () => {
    const wrong = rail({ kind: 'nacha', payers: [{ ...payer, accountForm: 'stored_card' }] });
    await assert.rejects(open([wrong]), /does not serve \w+ by stored_card of EUR in DEU/);
    assert.throws(() => read([rail({ payers: [{ ...payer, accountForm: 'pan' }] })]));
  });

  it('opens the rails without a fault, and lists every fault of the others', async () => {
    const wrong = [
      rail({ name: 'pigeon', kind: 'pigeon' }),
      rail({ name: 'both', kind: 'nacha', payers: [{ ...payer, deliveryType: 'CASH_PICKUP' }] }),
      rail({ name: 'open', config: partnerConfig }),
      rail({ name: 'declared', config: partnerConfig }),
    ];
    const { rails, faults } = await openRails(read(wrong), {
      createHost: () => host,
      listFaults: ({ name }) => (name === 'declared' ? ['a payer without a name'] : []),
    });
    assert.deepEqual(
      rails.map(({ name }) => name),
      ['open'],
    );
    assert.deepEqual(
      [...new Set(faults.map(({ rail: name }) => name))],
      ['pigeon', 'both', 'declared'],
    );
    const both = faults.filter(({ rail: name }) => name === 'both');
    assert.ok(both.length > 2, 'its corridor and every member of its config');
    await Promise.all(rails.map(async (one) => one.close?.()));
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
