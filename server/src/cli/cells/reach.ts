import { createPublicKey } from 'node:crypto';
import { readBounded } from '../../core/bounded-body.ts';
import { nameSigningKey } from '../../core/environment-keys.ts';
import { type Finding, formatCause, passed, problem } from '../doctor/finding.ts';
import type { CellDescription } from './description.ts';

/** Whether each public address is answered by its own cell, and by clocks that agree. */

const answerMsMax = 10_000;
const keyBytesMax = 10_000;
/** The Date header has whole seconds. */
const clockMsMax = 3_000;

type Reached = { readonly cell: string; readonly finding: Finding; readonly aheadMs?: number };
type Parts = { readonly fetch: typeof fetch; readonly realNowMs: () => number };

export async function checkReach(
  cells: readonly CellDescription[],
  parts: Parts,
): Promise<Finding[]> {
  const reached = await Promise.all(cells.map((cell) => reach(cell, parts)));
  const clocks = reached.filter((one) => one.aheadMs !== undefined);
  return [...reached.map(({ finding }) => finding), ...compareClocks(clocks)];
}

async function reach(cell: CellDescription, { fetch, realNowMs }: Parts): Promise<Reached> {
  const { cell: name, public_url: url } = cell;
  const sentMs = realNowMs();
  try {
    // Redirects would lead to another address than that of the cell.
    const answer = await fetch(`${url}/.well-known/receipt-key.pem`, {
      redirect: 'error',
      signal: AbortSignal.timeout(answerMsMax),
    });
    const aheadMs = Date.parse(answer.headers.get('date') ?? '') - (sentMs + realNowMs()) / 2;
    const body = (await readBounded(answer, keyBytesMax))?.toString('utf8') ?? '';
    const clock = Number.isNaN(aheadMs) ? {} : { aheadMs };
    if (answer.status !== 200) {
      const text = `${name}: ${url} answers ${answer.status}: check the entry and the service`;
      return { cell: name, finding: problem(text), ...clock };
    }
    const finding =
      readKeyId(body) === cell.signing_key_id
        ? passed(`${name}: ${url} is answered by this cell`)
        : problem(`${name}: ${url} is answered by another installation: correct the entry's map`);
    return { cell: name, finding, ...clock };
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return {
      cell: name,
      finding: problem(`${name}: ${url} cannot be reached: ${formatCause(cause)}`),
    };
  }
}

function readKeyId(pem: string): string | undefined {
  try {
    return nameSigningKey(createPublicKey(pem));
  } catch {
    return undefined;
  }
}

/** Among each other: the clock of the machine that asks may be the wrong one. */
function compareClocks(clocks: readonly Reached[]): Finding[] {
  const [first, ...others] = clocks.toSorted((a, b) => (a.aheadMs ?? 0) - (b.aheadMs ?? 0));
  const last = others.at(-1);
  if (first?.aheadMs === undefined || last?.aheadMs === undefined) return [];
  const apartMs = last.aheadMs - first.aheadMs;
  if (apartMs <= clockMsMax) return [passed('the clocks of the cells agree')];
  const seconds = (apartMs / 1000).toFixed(0);
  return [
    problem(
      `the clock of ${last.cell} is about ${seconds} s ahead of that of ${first.cell}: synchronize them (NTP)`,
    ),
  ];
}
