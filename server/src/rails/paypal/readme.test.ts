import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { configSchema } from './config.ts';

test('the configuration in the README is valid', () => {
  const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
  const [, json = ''] = /```json\n(.*?)```/s.exec(readme) ?? [];
  const { config } = JSON.parse(json) as { config: Record<string, unknown> };
  const secrets = { clientId: 'client-1234', clientSecret: 'secret-1234567890' };
  assert.equal(configSchema.safeParse({ ...config, ...secrets }).success, true);
});
