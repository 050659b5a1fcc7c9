import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './commands.ts';
import { openAch, openBank } from './rails-trial/bank-files.ts';
import { openEthereum } from './rails-trial/chains.ts';
import type { Counterpart } from './rails-trial/counterpart.ts';
import { type Account, createAccount, type Service, startService } from './service.ts';
import { startWise, type Wise } from './wise-kit.ts';

/**
 * A service with a provider, banks and a chain that reach the same recipients: Wise beside ACH in the
 * United States, beside SEPA in Germany, and USDC on a chain in both.
 */

export type Row = Record<string, unknown>;
export type Candidate = {
  destination_token: string;
  company_name: string;
  network: string;
  fee: string;
  exchange_rate: string;
  cost: string;
  score: number | null;
  is_chosen: boolean;
  excluded_by: string;
  detail: string;
  provider_price: { fee: string; age_seconds: { text: string } } | null;
};
export type OtherWay = Omit<Candidate, 'cost' | 'is_chosen' | 'excluded_by'> & {
  delivery_type: string;
  destination_currency_code: string;
  destination_amount: string;
};
export type Readiness = { missing?: { field: string }[] };
export type Decision = {
  status: string;
  decisions: { refused_because: string; candidates: Candidate[] }[];
  other_ways: OtherWay[];
  attempts: { rail: string; state: string; reason: string }[];
  exceptions: { kind: string }[];
};

export const places = {
  usa: { country: 'USA', deliveryType: 'BANK_DEPOSIT', currency: 'USD' },
  germany: { country: 'DEU', deliveryType: 'BANK_DEPOSIT', currency: 'EUR' },
} as const;
export type Place = (typeof places)[keyof typeof places];

/** What the simulated Wise asks at first: fifty cents and 0.6 %. */
export const usual = { fixedMinor: 50, basisPoints: 60 };
export const person = {
  address1: '1 Main Street',
  city: 'Albany',
  state_province: 'NY',
  postal_code: '12207',
};

/** The name of the payers that compete for accounts. */
export const payerName = 'Bank account';
export const walletName = 'Wallet';

export type Competition = {
  readonly wise: Wise;
  readonly ach: Counterpart;
  readonly sepa: Counterpart;
  readonly chain: Counterpart;
  readonly service: Service;
  readonly owner: Account;
  /** Of an operator who may read. */
  readonly operatorKey: string;
  stop(): Promise<void>;
};

export async function startCompetition(): Promise<Competition> {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-competing-'));
  await using opened = new AsyncDisposableStack();
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  const wise = await startWise();
  opened.defer(() => void wise.process.kill());
  const open = async (kind: (places: Places) => Promise<Counterpart>, name: string) =>
    opened.adopt(
      await kind({ folder: join(folder, name), callbackUrl: '', clockFile: '' }),
      (one) => one.close(),
    );
  const ach = await open(openAch, 'ach');
  const sepa = await open(openBank, 'sepa');
  // It pays everything, at once. The bank reads the file at any moment, and never a part of it.
  const options = join(folder, 'sepa/bank/options.json');
  writeFileSync(`${options}.part`, JSON.stringify({ rules: [] }));
  renameSync(`${options}.part`, options);
  const chain = await open(openEthereum, 'chain');
  const rails = join(folder, 'rails.json');
  writeFileSync(rails, JSON.stringify({ rails: describeRails({ wise, ach, sepa, chain }) }));
  const service = await startService({ isOwn: true, settings: { OUTLAY_RAILS: rails } });
  opened.defer(() => service.stop());
  for (const name of ['wise_usd', 'wise_eur']) {
    await wise.subscribe(`${service.baseUrl}/rails/${name}`);
  }
  const owner = await createAccount(service, { USD: '100000' });
  const words = ['operator', 'create', '--name', 'ada', '--role', 'viewer', '--reason', 'test'];
  const { key: operatorKey = '' } = await runCommand(service, words);
  const running = opened.move();
  const stop = () => running.disposeAsync();
  return { wise, ach, sepa, chain, service, owner, operatorKey, stop };
}

type Places = Parameters<typeof openAch>[0];

function describeRails({
  wise,
  ach,
  sepa,
  chain,
}: Pick<Competition, 'wise' | 'ach' | 'sepa' | 'chain'>): Row[] {
  const bank = (place: Place, key: string, fixed: string) =>
    describePayer({ key, place, payerName, currency: place.currency, fixed });
  const wallet = (place: Place) => ({
    ...describePayer({
      key: place.country.toLowerCase(),
      place,
      payerName: walletName,
      currency: 'USDC',
      fixed: '0.2',
    }),
    deliveryType: 'CRYPTOCURRENCY',
  });
  return [
    describeWise(wise, 'USD', bank(places.usa, 'wise-us', '0')),
    describeWise(wise, 'EUR', bank(places.germany, 'wise-de', '0')),
    // Windows of the bank would make the tests wait.
    describeRail('ACH', withConfig(ach, { closeAfterSeconds: 1 }), [bank(places.usa, 'ach', '1')]),
    describeRail('SEPA', sepa, [bank(places.germany, 'sepa', '0.9')]),
    describeRail('Chain', chain, [wallet(places.usa), wallet(places.germany)]),
  ];
}

function describePayer(payer: {
  key: string;
  place: Place;
  payerName: string;
  currency: string;
  /** In dollars. */
  fixed: string;
}): Row {
  const { key, place, currency, fixed } = payer;
  return {
    key,
    companyKey: 'company',
    payerName: payer.payerName,
    countryCode: place.country,
    deliveryType: place.deliveryType,
    currencies: [currency],
    tariffs: [{ fee: [{ upTo: null, fixed, basisPoints: 0 }], marginBasisPoints: 0 }],
    availability: { delay: { minutes: 5 } },
    isDynamicToken: true,
  };
}

function describeWise(wise: Wise, sourceCurrency: string, payer: Row): Row {
  return {
    kind: 'wise',
    name: `wise_${sourceCurrency.toLowerCase()}`,
    config: {
      baseUrl: wise.url,
      credentials: { token: wise.token },
      profileId: wise.profileId,
      sourceCurrency,
      webhookKeys: [wise.webhookKey],
      pollSeconds: 0.5,
      requirementsSeconds: 1,
      priceAmounts: ['20', '100', '1000'],
    },
    prices: { everySeconds: 5, bearBasisPoints: 50 },
    companies: [{ key: 'company', name: 'Wise' }],
    payers: [payer],
  };
}

type Configured = Pick<Counterpart, 'config'>;

function withConfig({ config = {} }: Configured, changes: Row): Configured {
  return { config: { ...config, config: { ...(config['config'] as Row), ...changes } } };
}

function describeRail(name: string, { config }: Configured, payers: readonly Row[]): Row {
  return { ...config, companies: [{ key: 'company', name }], payers, dailyLimits: {} };
}
