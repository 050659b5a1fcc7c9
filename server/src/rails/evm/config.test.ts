import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  configSchema,
  findConfirmations,
  findFeeLimits,
  getCoin,
  readFeeLimits,
} from './config.ts';
import { openAccount } from './key.ts';

const secret = 'c0ffee'.repeat(10) + 'beef';
const usdc = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const least = {
  rpcUrls: ['https://node.example.org/v2/secret'],
  chainId: 1,
  key: { privateKey: secret },
};
const fees = { nativePerUnit: { USDC: '0.0003' } };
const tokens = [{ currency: 'USDC', address: usdc, decimals: 6 }];

test('the minimal configuration has conservative defaults', () => {
  const config = configSchema.parse(least);
  // The finality of the chain counts.
  assert.equal(config.finalBlocks, undefined);
  assert.equal(config.defaultBlocks, undefined);
  assert.equal(config.fees.shareMaxBasisPoints, 1000);
  assert.equal(config.fees.perGasMaxGwei, '200');
  assert.deepEqual(config.tokens, []);
});

test('errors name the invalid setting and no secret', () => {
  const wrong: Record<string, object> = {
    'rpcUrls.0': { rpcUrls: ['ftp://secret.example.org'] },
    'key.privateKey': { key: { privateKey: `${secret}00` } },
    'tokens.0.address': {
      fees,
      tokens: [{ currency: 'USDC', address: usdc.replace('A0b', 'a0B'), decimals: 6 }],
    },
    'tokens.0.currency': {
      fees: { shareMaxBasisPoints: null },
      tokens: [{ currency: 'NOPE', address: usdc, decimals: 6 }],
    },
    tokens: {
      fees,
      tokens: [
        { currency: 'USDC', address: usdc, decimals: 6 },
        { currency: 'USDC', address: usdc, decimals: 6 },
      ],
    },
    'confirmations.ETH': { confirmations: { ETH: [{ upTo: '1', blocks: 2 }] } },
    'confirmations.USDC': { confirmations: { USDC: [{ upTo: null, blocks: 2 }] } },
    'fees.totalMax': { fees: { totalMax: '1e18' } },
    'fees.nativePerUnit': { tokens },
    'fees.shareMaxBasisPoints': { tokens, fees: { ...fees, shareMaxBasisPoints: 10_001 } },
    '': { unheardOf: true },
  };
  for (const [path, change] of Object.entries(wrong)) {
    const result = configSchema.safeParse({ ...least, ...change });
    assert.ok(!result.success, path);
    const paths = result.error.issues.map((issue) => issue.path.join('.'));
    assert.deepEqual(paths, [path]);
    assert.ok(!/c0ffee|secret/.test(result.error.message), path);
  }
});

test('a token needs a price unless fees have no share limit', () => {
  const read = (nativePerUnit: object, more: object = {}) =>
    configSchema.safeParse({ ...least, tokens, fees: { nativePerUnit, ...more } });
  for (const prices of [{}, { USDC: '0' }, { USDC: '0.0003', ETH: '1' }]) {
    const result = read(prices);
    assert.deepEqual(
      result.error?.issues.map(({ path }) => path),
      [['fees', 'nativePerUnit']],
    );
  }
  assert.ok(read({}, { shareMaxBasisPoints: null }).success);
  assert.ok(read({ USDC: '0.0003' }).success);
});

test('the fee limit is a share of the amount in any currency', () => {
  const config = configSchema.parse({ ...least, tokens, fees });
  const limits = readFeeLimits(config);
  const usdcLimit = (amountMinor: bigint) =>
    findFeeLimits(config, limits, { currency: 'USDC', amountMinor, scale: 6 }).totalMax;
  // A tenth of 0.01 USDC at 0.0003 ETH for a USDC.
  assert.equal(usdcLimit(10_000n), 300_000_000_000n);
  assert.equal(usdcLimit(100_000_000n), 3_000_000_000_000_000n);
  assert.equal(usdcLimit(1_000_000_000_000n), limits.totalMax);
  const ether = { currency: 'ETH', amountMinor: 100_000_000n, scale: 9 };
  assert.equal(findFeeLimits(config, limits, ether).totalMax, 10n ** 16n);
});

test('confirmations depend on the amount', () => {
  const config = configSchema.parse({
    ...least,
    confirmations: {
      ETH: [
        { upTo: '0.5', blocks: 3 },
        { upTo: '10', blocks: 12 },
        { upTo: null, blocks: 40 },
      ],
    },
  });
  const at = (amountMinor: bigint) =>
    findConfirmations(config, { currency: 'ETH', amountMinor, scale: 9 });
  assert.deepEqual(
    [1n, 500_000_000n, 500_000_001n, 10_000_000_000n, 10_000_000_001n].map(at),
    [3, 3, 12, 12, 40],
  );
  const other = { currency: 'USDC', amountMinor: 1n, scale: 6 };
  assert.equal(findConfirmations(config, other), undefined);
  assert.equal(findConfirmations({ ...config, defaultBlocks: 9 }, other), 9);
});

/** From the Web3 Secret Storage Definition; key and password are public. */
const keyFile = {
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
    ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
    kdf: 'pbkdf2',
    kdfparams: {
      c: 262_144,
      dklen: 32,
      prf: 'hmac-sha256',
      salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
    },
    mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
  },
  id: '3198bc9c-6672-5ab3-d995-4942343ae5b6',
  version: 3,
};

test('a key file opens only with its password', async () => {
  const keystore = JSON.stringify(keyFile);
  const account = await openAccount({ keystore, password: 'testpassword' });
  const plain = await openAccount({
    privateKey: '0x7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d',
  });
  assert.equal(account.address, plain.address);
  await assert.rejects(openAccount({ keystore, password: 'other' }), {
    message: 'config.key.password does not open config.key.keystore',
  });
  for (const text of ['', '{}', JSON.stringify({ ...keyFile, version: 1 })]) {
    await assert.rejects(openAccount({ keystore: text, password: 'testpassword' }), {
      message: 'config.key.keystore must be a version 3 key file',
    });
  }
  const outside = `0x${'f'.repeat(64)}` as const;
  await assert.rejects(openAccount({ privateKey: outside }), {
    message: 'config.key.privateKey must be a private key of the curve secp256k1',
  });
});

test('the coin is that of the chain, and a token cannot take its place', () => {
  const on = (chainId: number, more: object = {}) =>
    configSchema.safeParse({ ...least, chainId, fees, tokens, ...more });
  const coins = [1, 137, 56, 31_337].map((chainId) => getCoin(on(chainId).data ?? { chainId }));
  assert.deepEqual(coins, ['ETH', 'POL', 'BNB', 'ETH']);
  assert.equal(getCoin({ chainId: 31_337, coin: 'POL' }), 'POL');
  assert.match(on(137, { coin: 'ETH' }).error?.message ?? '', /must be POL or absent/);
  const wrapped = [{ currency: 'POL', address: usdc, decimals: 18 }];
  const more = { tokens: wrapped, fees: { shareMaxBasisPoints: null } };
  assert.match(on(137, more).error?.message ?? '', /POL is the coin of the chain/);
  assert.equal(on(1, more).success, true);
});
