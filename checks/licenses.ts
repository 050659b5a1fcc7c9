import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findLockfileFaults } from '../lockfile.mjs';
import { findLicenseFaults, type LockEntry } from './license-rules.ts';

/** Checks the lockfiles: that they are whole, and that every license is approved. */

const root = join(import.meta.dirname, '..');
const faults = ['.', 'runtime', 'fonts', 'ocr', 'faces', 'anvil'].flatMap((name) => {
  const folder = join(root, name);
  const text = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Record<string, LockEntry> };
  const found = [...findLockfileFaults(folder), ...findLicenseFaults(packages)];
  return found.map((fault) => `${join(name, 'package-lock.json')}: ${fault}`);
});
for (const fault of faults) process.stderr.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
