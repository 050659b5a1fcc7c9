import { parseArgs } from 'node:util';

/** The words after `npm run bench --`, and what they run. */

export const parts = {
  statements: 'processor time of single statements, by size of group',
  profile: 'where the processor spends its time, as a flame graph',
  large: 'commits beside BENCH_PAYOUTS payouts (10,000,000)',
  console: 'lists and charts of the console beside BENCH_PAYOUTS payouts (1,000,000)',
  lighthouse: 'the main pages of the console in Lighthouse, LIGHTHOUSE_VISITS times at most (8)',
  batch: 'a batch file of BENCH_ROWS rows (100,000)',
  growth: 'the same steps while the tables grow from BENCH_BASE payouts (10,000)',
  events: 'streams of events to BENCH_READERS readers (1,000)',
  tracing: 'what traces cost, beside none',
  cells: 'two cells beside one, each confined to one core',
  chains: 'what the chains of hashes cost a commit, beside none',
  pretenuring: 'what pretenuring by V8 costs, in BENCH_PROCESSES processes of each kind (4)',
  webhooks: 'deliveries of webhooks, for BENCH_PAYOUTS payouts a second (20,000)',
  overload: 'OVERLOAD_FACTORS times the capacity (1,2,4) for OVERLOAD_SECONDS each (10)',
} as const;

export type Part = keyof typeof parts;

export const help = `Usage: npm run bench -- [one of]

${Object.entries(parts)
  .map(([name, about]) => `  --${name.padEnd(12)}${about}`)
  .join('\n')}
  --help        this text

Without any: Outlay and its peers beside each other, which writes docs/benchmarks.md unless it is narrowed.

Variables:
  BENCH_ROUNDS  how often each step is measured (3; some parts differ)
  BENCH_SECONDS how long a step is measured (3; some parts differ)
  BENCH_ONLY    only steps whose key begins with one of these, separated by commas (see bench/plan.ts)
`;

/** The chosen part; `peers` without a word. @throws Error for words that are none of these. */
export function readPart(words: readonly string[]): Part | 'peers' | 'help' {
  const names = [...Object.keys(parts), 'help'] as (Part | 'help')[];
  const options = Object.fromEntries(names.map((name) => [name, { type: 'boolean' as const }]));
  const { values } = parseArgs({ args: [...words], options });
  const [first = 'peers', ...others] = names.filter((name) => values[name] === true);
  if (first === 'help' || others.includes('help')) return 'help';
  if (others.length > 0) throw new Error(`--${first} and --${others[0]} exclude each other`);
  return first;
}
