import { UsageError } from '../failure.ts';

/**
 * Commands of operators, who work on the database instead of over HTTP. They are part of the
 * service's package.
 */

const operatorPackage = '@outlay/server/operator';

/** Commands with a name without `admin`: clients and auditors run them too, or operators every day. */
export const shared = [
  { name: 'status', about: 'show freezes, rails, stuck payouts and open exceptions on one screen' },
  {
    name: 'rails',
    runs: 'rail list',
    about: 'show payouts in flight, prefunding and results of each rail on one screen',
  },
  { name: 'doctor', about: 'find problems of this installation and say how to fix them' },
  {
    name: 'receipt verify',
    about: "verify a receipt's PDF or the text of its QR code, without network",
  },
  { name: 'proof verify', about: 'verify the proof of a payout, without network' },
  {
    name: 'ledger verify',
    about: 'recompute every balance and check the hash chains of the ledger',
  },
] as const;

/** What the operators' program reads; undefined for a line that is not for it. */
export function findOperatorWords(words: readonly string[]): readonly string[] | undefined {
  if (words[0] === 'admin') return words.slice(1);
  for (const command of shared) {
    const named = command.name.split(' ');
    if (!named.every((word, index) => words[index] === word)) continue;
    const runs = 'runs' in command ? command.runs.split(' ') : named;
    return [...runs, ...words.slice(named.length)];
  }
  return undefined;
}

type Operator = { runOperator(words: readonly string[]): Promise<void> };

/** @throws UsageError where the service's package is not installed. */
export async function runOperator(words: readonly string[]): Promise<void> {
  const { runOperator: runWords } = await loadOperator();
  await runWords(words);
}

async function loadOperator(): Promise<Operator> {
  try {
    return (await import(operatorPackage)) as Operator;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes('@outlay/server')) throw error;
    throw new UsageError(
      'This command needs the package of the service (@outlay/server), which is not installed here',
      'run it in a clone of the repository: npm run outlay -- admin …',
    );
  }
}
