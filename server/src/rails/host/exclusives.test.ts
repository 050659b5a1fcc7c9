import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, it, test } from 'node:test';
import type { ExclusiveResource } from '../contract/contract.ts';
import { listRailExclusives } from './exclusives.ts';
import type { RailConfig } from './rail-config.ts';
import { listRailKinds } from './registry.ts';

/** Each kind says what a second installation must not use, and nothing else counts as that. */

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey;
const rsaPem = rsa.export({ type: 'spki', format: 'pem' }).toString();
const hmacKey = (id: string) => ({
  id,
  algorithm: 'hmac-sha256',
  key: randomBytes(32).toString('base64'),
});
const ofPartner = { signingKey: hmacKey('outlay-1'), partnerKeys: [hmacKey('partner-1')] };
const debtor = {
  key: 'main',
  name: 'Outlay GmbH',
  iban: 'DE89370400440532013000',
  currencies: ['EUR'],
};

type Sample = {
  readonly config: object;
  /** The same use in other words, or with what may be shared changed. */
  readonly same: object;
  /** All that is exclusive is another one. */
  readonly other: object;
};

const samples: Readonly<Record<string, Sample>> = {
  adyen: {
    config: {
      environment: 'live',
      balanceAccountId: 'BA1X',
      apiKey: 'k'.repeat(20),
      webhookKeys: ['ab'.repeat(16)],
    },
    same: { apiKey: 'l'.repeat(20), webhookKeys: ['AB'.repeat(16)] },
    other: { balanceAccountId: 'BA2X', webhookKeys: ['cd'.repeat(16)] },
  },
  evm: {
    config: {
      rpcUrls: ['https://node.example'],
      chainId: 1,
      key: { privateKey: `0x${'11'.repeat(32)}` },
    },
    same: { rpcUrls: ['https://other.example'], key: { privateKey: '11'.repeat(32) } },
    other: { key: { privateKey: '22'.repeat(32) } },
  },
  fspiop: {
    config: {
      hubUrl: 'https://hub.example',
      fspId: 'payer1',
      hubFspId: 'Hub',
      privateKey: 'pem',
      publicKeys: {},
      payer: { idType: 'BUSINESS', id: '1' },
    },
    same: { privateKey: 'other', payer: { idType: 'BUSINESS', id: '2' } },
    other: { fspId: 'payer2' },
  },
  iso20022: {
    config: {
      messagePrefix: 'EU1',
      initiatingParty: { name: 'Outlay GmbH' },
      debtors: [debtor],
      schedule: {},
      exchange: { mode: 'directory', folder: '/bank/eu1' },
    },
    same: { exchange: { mode: 'directory', folder: '/bank/eu1/', outbox: '/bank/eu1/outbox' } },
    other: {
      messagePrefix: 'US1',
      debtors: [{ ...debtor, iban: 'FR7630006000011234567890189' }],
      exchange: { mode: 'directory', folder: '/bank/us1' },
    },
  },
  nacha: {
    config: {
      odfi: { routingNumber: '121042882', name: 'BANK' },
      origin: { id: '1234567890', name: 'OUTLAY' },
      company: { id: '1234567890', name: 'OUTLAY' },
      folders: { outbox: '/ach/out', inbox: '/ach/in', archive: '/ach/archive' },
      closeAfterSeconds: 60,
    },
    same: { company: { id: '999', name: 'OTHER' }, speed: 'next_day' },
    other: {
      origin: { id: '1987654321', name: 'OUTLAY' },
      folders: { outbox: '/ach2/out', inbox: '/ach2/in', archive: '/ach2/archive' },
    },
  },
  partner: {
    config: { baseUrl: 'https://partner.example', ...ofPartner },
    same: { timeoutSeconds: 3 },
    other: { signingKey: hmacKey('outlay-1') },
  },
  paypal: {
    config: {
      clientId: 'client-one',
      clientSecret: 's'.repeat(20),
      webhookId: 'WH1',
      emailSubject: 'Payout',
    },
    same: { clientSecret: 't'.repeat(20) },
    other: { clientId: 'client-two', webhookId: 'WH2' },
  },
  solana: {
    config: {
      rpcUrls: ['https://node.example'],
      cluster: 'devnet',
      key: { secretKey: makeSolanaKey() },
      tokens: [
        { currency: 'USDC', mint: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', decimals: 6 },
      ],
    },
    same: { rpcUrls: ['https://other.example'] },
    other: { key: { secretKey: makeSolanaKey() } },
  },
  utxo: {
    config: {
      network: 'bitcoin',
      chain: 'regtest',
      rpc: { url: 'http://10.0.0.5:18443', credentials: 'user:one' },
      keys: { mode: 'own', secret: '11'.repeat(32), wallet: 'eu1' },
    },
    same: {
      rpc: { url: 'http://10.0.0.5:18443', credentials: 'user:two' },
      keys: { mode: 'own', secret: '11'.repeat(32), wallet: 'eu1', addressCount: 7 },
    },
    other: { keys: { mode: 'own', secret: '22'.repeat(32), wallet: 'us1' } },
  },
  wise: {
    config: {
      credentials: { token: 'token-one' },
      profileId: '1',
      sourceCurrency: 'EUR',
      webhookKeys: [rsaPem],
    },
    same: { credentials: { token: 'token-two' } },
    other: { profileId: '2' },
  },
};

/** As `solana-keygen` writes it. */
function makeSolanaKey(): string {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const [secret, open] = [
    privateKey.export({ format: 'jwk' }).d,
    publicKey.export({ format: 'jwk' }).x,
  ];
  return JSON.stringify([
    ...Buffer.from(secret ?? '', 'base64url'),
    ...Buffer.from(open ?? '', 'base64url'),
  ]);
}

async function list(kind: string, config: object): Promise<string[]> {
  const described = { kind, name: 'rail', config } as unknown as RailConfig;
  const { exclusives, faults } = await listRailExclusives([described]);
  assert.deepEqual(faults, []);
  return exclusives.map(({ resource }) => JSON.stringify(describeResource(resource)));
}

const describeResource = (resource: ExclusiveResource): unknown =>
  'folder' in resource ? ['folder', resource.folder] : [resource.what, resource.value];

describe('what a rail has for itself', () => {
  for (const kind of listRailKinds()) {
    it(`of the kind ${kind}`, async () => {
      const sample = samples[kind];
      assert.ok(sample !== undefined, `${kind} needs a sample`);
      const [own, same, other] = await Promise.all([
        list(kind, sample.config),
        list(kind, { ...sample.config, ...sample.same }),
        list(kind, { ...sample.config, ...sample.other }),
      ]);
      assert.ok(own.length > 0);
      assert.deepEqual(same, own);
      assert.deepEqual(
        other.filter((one) => own.includes(one)),
        [],
      );
    });
  }
});

test('an address is another one on another chain', async () => {
  const { config = {} } = samples['evm'] ?? {};
  assert.notDeepEqual(await list('evm', config), await list('evm', { ...config, chainId: 137 }));
});

test('faults are told without values', async () => {
  const configs = [
    { kind: 'evm', name: 'eth', config: { ...samples['evm']?.config, chainId: 'secret' } },
    { kind: 'nothing', name: 'odd', config: {} },
  ] as unknown as RailConfig[];
  const { exclusives, faults } = await listRailExclusives(configs);
  assert.deepEqual(exclusives, []);
  const texts = faults.map(({ text }) => text).join('\n');
  assert.match(texts, /rail eth: config: chainId: /);
  assert.match(texts, /rail odd: kind nothing is unknown/);
  assert.doesNotMatch(texts, /secret/);
});
