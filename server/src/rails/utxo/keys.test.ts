import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatScript } from './addresses.ts';
import { createOwnKeys, type KeyKind } from './keys.ts';
import { getNetwork } from './networks.ts';

const bitcoin = getNetwork('bitcoin', 'main');
/** The seed of the test vectors of BIP 84 and BIP 86. */
const seed =
  '5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc1' +
  '9a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4';

function open(kind: KeyKind, secret = seed) {
  return createOwnKeys(bitcoin, { secret, kind, path: undefined, addressCount: 2 });
}

test('a seed gives the addresses of BIP 84', () => {
  const keys = open('wpkh');
  const addresses = [keys.getDepositScript(0), keys.getDepositScript(1), keys.getChangeScript(0)];
  assert.deepEqual(
    addresses.map((script) => formatScript(bitcoin, script)),
    [
      'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu',
      'bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g',
      'bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el',
    ],
  );
});

test('a seed gives the addresses of BIP 86', () => {
  const keys = open('tr');
  const addresses = [keys.getDepositScript(0), keys.getDepositScript(1), keys.getChangeScript(0)];
  assert.deepEqual(
    addresses.map((script) => formatScript(bitcoin, script)),
    [
      'bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr',
      'bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh',
      'bc1p3qkhfews2uk44qtvauqyr2ttdsw7svhkl9nkm9s9c3x4ax5h60wqwruhk7',
    ],
  );
});

test('descriptors for the node contain no private key', () => {
  for (const kind of ['wpkh', 'tr'] as const) {
    for (const { text } of open(kind).descriptors) {
      assert.match(text, /^(?:wpkh|tr)\(xpub\w+\/[01]\/\*\)$/);
    }
  }
});

test('change addresses are used in turn', () => {
  const keys = open('wpkh');
  assert.notEqual(keys.getChangeScript(0), keys.getChangeScript(1));
  assert.equal(keys.getChangeScript(2), keys.getChangeScript(0));
  assert.ok(keys.owns(keys.getChangeScript(7)));
  assert.ok(!keys.owns(`0014${'00'.repeat(20)}`));
});

test('the error for an invalid key does not contain it', () => {
  const testKey =
    'tprv8ZgxMBicQKsPe5YMU9gHen4Ez3ApihUfykaqUorj9t6FDqy3nP6eoXiAo2ssvpAjoLroQxHqr3R5nE3a5dU3DHTjTgJDd7zrbniJr6nrCzd';
  for (const secret of ['xprvsomething', 'nonsense', testKey, ' , ']) {
    assert.throws(
      () => open('wpkh', secret),
      (error: Error) => !error.message.includes('something') && !error.message.includes('tprv8'),
    );
  }
});
