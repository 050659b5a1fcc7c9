import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { z } from 'zod';
import { configSchema } from './config.ts';

const example = await readFile(new URL('README.md', import.meta.url), 'utf8');
const { config } = z
  .object({ config: z.record(z.string(), z.unknown()) })
  .parse(JSON.parse(/```json\n([^`]+)```/.exec(example)?.[1] ?? ''));
const exchange = {
  ...z.record(z.string(), z.unknown()).parse(config['exchange']),
  privateKey: 'x',
};

test('the configuration in the README is valid once its secret is read', () => {
  const parsed = configSchema.parse({ ...config, exchange });
  assert.equal(parsed.exchange.mode, 'sftp');
});

const german = { key: 'a', name: 'A', iban: 'DE89370400440532013000', currencies: ['EUR'] };

test('a debtor of payments in euro needs no address inside the European Economic Area', () => {
  assert.equal(configSchema.safeParse({ ...config, exchange, debtors: [german] }).success, true);
});

test('an unusable configuration is refused with a message', () => {
  const wrongs: readonly [Record<string, unknown>, RegExp][] = [
    [{ messagePrefix: 'has space' }, /messagePrefix/],
    [{ schedule: { cutOffs: ['14:00', '09:00'] } }, /must be ascending/],
    [{ schedule: { timeZone: 'Europe/Nowhere' } }, /must be an IANA time zone/],
    [
      { debtors: [{ key: 'a', name: 'A', currencies: ['EUR'] }] },
      /must have an iban or an account/,
    ],
    [{ debtors: [{ key: 'a', name: 'A', iban: 'DE00', currencies: ['EUR'] }] }, /valid IBAN/],
    [{ debtors: [{ ...german, country: 'DE' }] }, /debtor a must have a country and a town/],
    [{ debtors: [{ ...german, town: 'Berlin' }] }, /debtor a must have a country and a town/],
    [{ debtors: [{ ...german, currencies: ['EUR', 'USD'] }] }, /must have a country and a town/],
    [{ exchange: { ...exchange, hostKeyFingerprints: [] } }, /hostKeyFingerprints/],
    [{ exchange: { ...exchange, hostKeyFingerprints: ['MD5:aa'] } }, /hostKeyFingerprints/],
    [{ exchange: { ...exchange, password: 'x' } }, /password/],
    [{ exchange: { mode: 'directory', folder: 'relative' } }, /folder/],
  ];
  for (const [wrong, fault] of wrongs) {
    const parsed = configSchema.safeParse({ ...config, exchange, ...wrong });
    assert.equal(parsed.success, false);
    assert.match(JSON.stringify(parsed.error?.issues), fault);
  }
});
