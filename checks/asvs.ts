import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * docs/security/asvs.md: every file that it names exists, every row has one of three states, no
 * requirement occurs twice, and the summary counts the rows.
 */

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/security/asvs.md'), 'utf8');
const states = ['met', 'partly', 'not met'];
const faults: string[] = [];
const seen = new Set<string>();
const counts = new Map(states.map((state) => [state, 0]));

for (const line of page.split('\n')) {
  const [, id, , state, evidence = ''] = line.split('|').map((cell) => cell.trim());
  if (id === undefined || !/^\d+\.\d+\.\d+$/.test(id)) continue;
  if (seen.has(id)) faults.push(`${id} occurs twice`);
  seen.add(id);
  if (state === undefined || !counts.has(state)) {
    faults.push(`${id}: the state must be one of ${states.join(', ')}`);
    continue;
  }
  counts.set(state, (counts.get(state) ?? 0) + 1);
  if (state === 'met' && !evidence.includes('`')) faults.push(`${id} is met, but names no place`);
  for (const [, path = ''] of evidence.matchAll(/`([\w./-]+\.(?:ts|js|md|sql|json|html))`/g)) {
    if (!existsSync(join(root, path))) faults.push(`${id}: ${path} does not exist`);
  }
}

const summary = states.map((state) => `${counts.get(state)} ${state}`).join(', ');
if (!page.includes(`${seen.size} requirements: ${summary}`)) {
  faults.push(`the summary must read: ${seen.size} requirements: ${summary}`);
}
for (const fault of faults) process.stderr.write(`docs/security/asvs.md: ${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
