import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from 'recheck';
import ts from 'typescript';

/**
 * No regular expression of the program takes more than linear time in the length of its text, whoever wrote the
 * text (OWASP ASVS 5.0, 1.3.12). `recheck` searches each for texts on which it backtracks: an anonymous header
 * of 15,000 spaces once took a second, and an image of 264 characters stopped the service.
 */

const root = join(import.meta.dirname, '..');
const folders = ['server/src', 'sdk/src', 'cli/src', 'web/*/src'];
/** By the clock. It is only reached where the machine has other work. */
const timeout = 300_000;
const atOnce = 4;

/** Expressions that backtrack on some text, and why no such text reaches them. */
const excused: Readonly<Record<string, string>> = {
  [String.raw`/"(?:[^"\\]|\\.)*"|[{}[\]]/g`]:
    'The text is JSON, so that every quotation mark at which a match begins has its end.',
  [String.raw`/"((?:[^"\\]|\\.)*)"(\s*:)?/g`]:
    'The text is JSON, so that every quotation mark at which a match begins has its end.',
  [String.raw`/\bobj\s{0,9}<<((?:(?!\bendobj\b)[\s\S]){1,2000}?)>>\s{0,9}stream\r?\n/g`]:
    'Every repetition has a limit, so that each place of the file costs a bounded time.',
  [String.raw`/\B(?=(?:\d{3})+$)/g`]: 'Amounts have at most 38 digits.',
  '/<<[<KCLES]*$/': 'A line of a machine-readable zone has at most 50 characters.',
  [String.raw`/\[[^\]]*0-9[^\]]*\]/g`]:
    'The text is an expression of this repository, or one that a rail has shortened to 500 characters.',
};

type Expression = { readonly text: string; readonly places: string[] };

const expressions = new Map<string, Expression>();
for (const path of globSync(
  folders.map((folder) => `${folder}/**/*.{ts,tsx}`),
  { cwd: root },
)) {
  if (!path.endsWith('.test.ts')) collect(path);
}

/** Those that are built from parts while the program runs are constants, or contain an escaped text. */
function collect(path: string): void {
  const source = ts.createSourceFile(
    path,
    readFileSync(join(root, path), 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      const known = expressions.get(node.text) ?? { text: node.text, places: [] };
      known.places.push(`${path}:${line + 1}`);
      expressions.set(node.text, known);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}

const faults: string[] = [];
const found = new Set<string>();

async function judge({ text, places }: Expression): Promise<void> {
  const end = text.lastIndexOf('/');
  const diagnostics = await check(text.slice(1, end), text.slice(end + 1), { timeout });
  if (diagnostics.status === 'safe') return;
  found.add(text);
  if (excused[text] !== undefined) return;
  const reason =
    diagnostics.status === 'vulnerable'
      ? `takes ${diagnostics.complexity.summary} time on ${JSON.stringify(diagnostics.attack.pattern).slice(0, 200)}`
      : `cannot be judged (${diagnostics.error.kind})`;
  faults.push(`${places.join(', ')}: ${text} ${reason}`);
}

const waiting = [...expressions.values()];
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await judge(next);
  }),
);
for (const text of Object.keys(excused)) {
  if (!found.has(text)) faults.push(`${text} is excused without need: remove it from the list`);
}
for (const fault of faults.toSorted()) process.stderr.write(`${fault}\n`);
// The helper of recheck runs on.
process.exit(faults.length === 0 ? 0 : 1);
