import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '../config.ts';
import { readProviderUrl } from './provider-url.ts';

const read = (text: string | undefined) => readProviderUrl('OUTLAY_SOME_URL', text);

test('the token of a provider stands as the password, percent-encoded', () => {
  assert.equal(read(undefined), undefined);
  assert.deepEqual(read('https://:a%2Fb@provider.example/v1'), {
    url: 'https://provider.example/v1',
    token: 'a/b',
  });
});

test('a URL that cannot be used names its setting and the form', () => {
  for (const wrong of ['provider', 'https://provider.example', 'https://:a%zz@provider.example']) {
    assert.throws(
      () => read(wrong),
      (error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, /^OUTLAY_SOME_URL must be a URL with a token as its password/);
        return true;
      },
    );
  }
  assert.throws(() => read('https://:token@10.0.0.1/'), /private or reserved/);
});
