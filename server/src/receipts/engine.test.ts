import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../core/errors.ts';
import { isEngineInstalled, requireEngine } from './engine.ts';

test('a machine without a PDF engine gets a hint, and another one does not', {
  skip: !(process.platform === 'linux' && process.arch === 'x64') && 'knows Linux on x64 only',
}, () => {
  assert.equal(isEngineInstalled(), true);
  requireEngine();
  const other = { platform: 'darwin', arch: 'riscv64' };
  assert.equal(isEngineInstalled(other), false);
  assert.throws(
    () => requireEngine(other),
    (error: unknown) =>
      error instanceof AppError &&
      error.code === 'not_acceptable' &&
      /no PDF engine .* darwin on riscv64/.test(error.message),
  );
});
