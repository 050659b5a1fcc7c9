import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** docs/benchmarks.md: each part of the suite writes its own section and leaves the others. */

const file = join(import.meta.dirname, '../docs/benchmarks.md');
const sections = [
  'peers',
  'statements',
  'profile',
  'large',
  'console',
  'lighthouse',
  'batch',
  'growth',
  'events',
  'webhooks',
  'tracing',
  'chains',
  'pretenuring',
] as const;
export type SectionName = (typeof sections)[number];

const head = `# Benchmarks

The suite in \`bench/\` writes this page; do not edit it. \`npm run bench\` measures Outlay beside other
engines; \`npm run bench -- --statements\`, \`-- --profile\`, \`-- --large\`, \`-- --console\`, \`-- --lighthouse\`, \`-- --batch\`, \`-- --growth\`, \`-- --events\`,
\`-- --webhooks\`, \`-- --tracing\`, \`-- --chains\` and \`-- --pretenuring\` write the sections after it (\`-- --overload\` prints the figures of
[decision 12](decisions/0012-overload.md)). Load generator,
service and database share one machine. Compare ratios within a run: absolute figures say little about
another machine. [Decision 10](decisions/0010-group-commit.md) explains the targets that are not reached.
`;

export function writeSection(name: SectionName, text: string): void {
  const old = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const texts = sections.map((one) => [one, one === name ? text.trim() : findSection(old, one)]);
  const parts = texts
    .filter(([, body]) => body !== '')
    .map(([one, body]) => wrap(one ?? '', body ?? ''));
  writeFileSync(file, `${head}\n${parts.join('\n\n')}\n`);
}

function wrap(name: string, text: string): string {
  return `<!-- ${name} -->\n${text}\n<!-- end of ${name} -->`;
}

/** @returns '' where there is none. */
function findSection(text: string, name: string): string {
  const start = text.indexOf(`<!-- ${name} -->`);
  const end = text.indexOf(`<!-- end of ${name} -->`);
  if (start < 0 || end < start) return '';
  return text.slice(start + `<!-- ${name} -->`.length, end).trim();
}
