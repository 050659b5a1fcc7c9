import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLicenseFaults } from './license-rules.ts';

const faultsOf = (name: string, license?: string) =>
  findLicenseFaults({ [`node_modules/${name}`]: license === undefined ? {} : { license } });

test('permissive licenses are approved, alone and in expressions', () => {
  for (const license of ['MIT', 'Apache-2.0', '(MIT OR GPL-3.0-only)', 'MIT AND Zlib']) {
    assert.deepEqual(faultsOf('some', license), [], license);
  }
});

test('other licenses, none, and words that SPDX does not know are faults', () => {
  assert.deepEqual(faultsOf('some', 'GPL-3.0-only'), ['some has GPL-3.0-only']);
  assert.deepEqual(faultsOf('some', 'MIT AND AGPL-3.0-only'), ['some has MIT AND AGPL-3.0-only']);
  assert.deepEqual(faultsOf('some', 'SEE LICENSE IN FILE'), ['some has SEE LICENSE IN FILE']);
  assert.deepEqual(faultsOf('some'), ['some states no license']);
});

test('an exception is for its packages only', () => {
  assert.deepEqual(faultsOf('@fontsource-variable/noto-sans', 'OFL-1.1'), []);
  assert.deepEqual(faultsOf('@img/sharp-libvips-linux-x64', 'LGPL-3.0-or-later'), []);
  assert.equal(faultsOf('some', 'OFL-1.1').length, 1);
  assert.equal(faultsOf('some', 'LGPL-3.0-or-later').length, 1);
});
