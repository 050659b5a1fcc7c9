import { UsageError } from '../failure.ts';

/**
 * Commands of operators, who work on the database instead of over HTTP. They are part of the
 * service's package.
 */

const operatorPackage = '@outlay/server/operator';

/** Commands with a name without `admin`, because clients and auditors run them too, or often. */
export const shared = [
  {
    name: 'receipt verify',
    about: "verify a receipt's PDF or the text of its QR code, without network",
  },
  { name: 'proof verify', about: 'verify the proof of a payout, without network' },
  {
    name: 'ledger verify',
    about: 'prove that every balance and the chains of the books are sound',
  },
  {
    name: 'rails',
    about: 'each rail: in flight, prefunding, contacts, cut-off, results; as admin rail list',
  },
] as const;

/** What the operators' program reads; undefined for a line that is not for it. */
export function findOperatorWords(words: readonly string[]): string[] | undefined {
  // Its results are JSON already.
  const [noun = '', verb = '', ...others] = words.filter((word) => word !== '--json');
  if (noun === 'rails') return ['rail', 'list', verb, ...others].filter((word) => word !== '');
  if (noun === 'admin') return verb === '' ? [] : [verb, ...others];
  return shared.some(({ name }) => name === `${noun} ${verb}`)
    ? [noun, verb, ...others]
    : undefined;
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
