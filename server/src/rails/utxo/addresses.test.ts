import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hex } from '@scure/base';
import fc from 'fast-check';
import {
  findScriptKind,
  formatScript,
  getDustMinor,
  readAddress,
  readMainAddress,
} from './addresses.ts';
import { getNetwork, type Network } from './networks.ts';

const networks = [
  getNetwork('bitcoin', 'main'),
  getNetwork('bitcoin', 'test'),
  getNetwork('bitcoin', 'regtest'),
  getNetwork('litecoin', 'main'),
  getNetwork('litecoin', 'test'),
  getNetwork('litecoin', 'regtest'),
];
const [bitcoin, , , litecoin] = networks as [Network, Network, Network, Network];

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
/** The x coordinate of the curve's generator: a Taproot output must be a point. */
const point = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
const anyScript = fc.oneof(
  bytes(20).map((hash) => `0014${hex.encode(hash)}`),
  bytes(32).map((hash) => `0020${hex.encode(hash)}`),
  bytes(20).map((hash) => `76a914${hex.encode(hash)}88ac`),
  bytes(20).map((hash) => `a914${hex.encode(hash)}87`),
  fc.constant(`5120${point}`),
);

describe('addresses', () => {
  test('scripts and addresses convert both ways on every network', () => {
    fc.assert(
      fc.property(anyScript, fc.constantFrom(...networks), (script, network) => {
        const address = formatScript(network, script);
        assert.ok(address !== undefined);
        const read = readAddress(network, address);
        assert.equal(read?.script, script);
        assert.equal(read.kind, findScriptKind(script));
        assert.equal(read.address, address);
      }),
    );
  });

  test('an address of another network is invalid unless the networks share prefixes', () => {
    const shared = (network: Network): string =>
      network.chain === 'main' ? network.name : network.bech32;
    fc.assert(
      fc.property(
        bytes(20),
        fc.constantFrom(...networks),
        fc.constantFrom(...networks),
        (hash, from, to) => {
          const address = formatScript(from, `0014${hex.encode(hash)}`) ?? '';
          const isKnown = readAddress(to, address) !== undefined;
          assert.equal(isKnown, shared(from) === shared(to));
        },
      ),
    );
  });

  test('a mistyped character is detected', () => {
    const letters = '023456789acdefghjklmnpqrstuvwxyz';
    fc.assert(
      fc.property(anyScript, fc.nat(), fc.nat({ max: 31 }), (script, place, letter) => {
        const address = formatScript(litecoin, script) ?? '';
        const at = 4 + (place % (address.length - 4));
        const changed = `${address.slice(0, at)}${letters[letter]}${address.slice(at + 1)}`;
        if (changed === address) return;
        assert.equal(readAddress(litecoin, changed), undefined);
      }),
    );
  });

  test('a main network refuses addresses of other main networks', () => {
    const mains = [bitcoin, litecoin];
    fc.assert(
      fc.property(
        anyScript,
        fc.constantFrom(...mains),
        fc.constantFrom(...mains),
        (script, from, to) => {
          const address = formatScript(from, script) ?? '';
          assert.equal(readAddress(to, address) !== undefined, from === to);
        },
      ),
    );
    // A script address of Bitcoin that older Litecoin nodes accept.
    const shared = '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy';
    assert.equal(readAddress(bitcoin, shared)?.kind, 'sh');
    assert.equal(readAddress(litecoin, shared), undefined);
  });

  test('later witness versions and data outputs are not destinations', () => {
    assert.equal(readAddress(bitcoin, 'bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs'), undefined);
    assert.equal(readAddress(bitcoin, 'bc1sw50qgdz25j'), undefined);
    assert.equal(findScriptKind('6a0411223344'), undefined);
    for (const text of ['', 'nowhere', 'x'.repeat(1000)]) {
      assert.equal(readAddress(bitcoin, text), undefined);
    }
  });

  test('a test chain can read main network addresses as the same scripts', () => {
    const regtest = getNetwork('litecoin', 'regtest');
    fc.assert(
      fc.property(anyScript, (script) => {
        const main = formatScript(litecoin, script) ?? '';
        const read = readMainAddress(regtest, main);
        assert.equal(read?.script, script);
        assert.equal(readAddress(regtest, read.address)?.script, script);
      }),
    );
    assert.equal(
      readMainAddress(regtest, formatScript(regtest, `0014${'00'.repeat(20)}`) ?? ''),
      undefined,
    );
  });

  test('dust limits are those of the nodes', () => {
    const scripts = {
      [`0014${'00'.repeat(20)}`]: 294n,
      [`0020${'00'.repeat(32)}`]: 330n,
      [`5120${point}`]: 330n,
      [`76a914${'00'.repeat(20)}88ac`]: 546n,
      [`a914${'00'.repeat(20)}87`]: 540n,
    };
    for (const [script, dust] of Object.entries(scripts)) {
      assert.equal(getDustMinor(bitcoin, script), dust);
      assert.equal(getDustMinor(litecoin, script), dust * 10n);
    }
  });
});
