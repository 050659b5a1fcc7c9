import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { nachaConfigSchema } from './config.ts';

test('the configuration in the README is valid', () => {
  const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8');
  const [, block] = /```json\n([\s\S]+?)```/.exec(readme) ?? [];
  const { kind, config } = JSON.parse(block ?? '') as { kind: string; config: unknown };
  assert.equal(kind, 'nacha');
  assert.equal(nachaConfigSchema.parse(config).windows.length, 3);
});
