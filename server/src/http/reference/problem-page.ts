import {
  AppError,
  type ErrorCode,
  errorCatalog,
  type FaultCode,
  faultCatalog,
} from '../../core/errors.ts';
import { escapeMarkup } from '../../core/markup.ts';
import { describeProblem } from '../problem.ts';
import { faultTexts } from './fault-texts.ts';
import { renderPage } from './html.ts';
import { obstacleTexts } from './obstacle-texts.ts';
import { type CodeText, problemTexts } from './problem-texts.ts';
import { reasonTexts } from './reason-texts.ts';
import { exceptionTexts, exclusionTexts } from './routing-texts.ts';

/**
 * The page of a code: what it means, what to do, an example, and a list of all codes below it. Where a
 * code has no title of its own, its cause is the heading.
 */

type Entry = {
  code: string;
  /** What kind of code it is, and the HTTP status of a problem. */
  kind: string;
  title: string;
  cause: string;
  remedy: string;
  example: unknown;
};

const keysOf = <Key extends string>(record: Readonly<Record<Key, unknown>>): Key[] =>
  Object.keys(record) as Key[];

const problems = keysOf(errorCatalog).map((code): Entry => {
  const { status, title } = errorCatalog[code];
  const { example, ...text } = problemTexts[code];
  return { code, kind: `Problem, HTTP ${status}`, title, ...text, example: show(code, example) };
});

const faults = keysOf(faultCatalog).map((code): Entry => {
  const { example, ...text } = faultTexts[code];
  const title = faultCatalog[code];
  return { code, kind: 'Fault', title, ...text, example: show(code, example) };
});

const reasons = Object.entries(reasonTexts).map(([code, { cause, remedy, status }]): Entry => {
  const example = { payout_token: 'payout_8c1f…', status, reason_code: code };
  return { code, kind: 'Reason of a payout', title: cause, cause, remedy, example };
});

const obstacles = Object.entries(obstacleTexts).map(([code, text]): Entry => {
  const example = { payout_token: 'payout_8c1f…', status: 'failure', code };
  return { code, kind: 'Obstacle of a payout', title: text.cause, ...text, example };
});

const exclusions = Object.entries(exclusionTexts).map(([code, text]): Entry => {
  const example = { payer_name: 'Banco Sol', is_chosen: false, excluded_by: code };
  return { code, kind: 'Rule of the router', title: text.cause, ...text, example };
});

const exceptions = Object.entries(exceptionTexts).map(([code, text]): Entry => {
  const example = { kind: code, opened_at: '2026-11-22T08:30:00', closed_at: '', resolution: '' };
  return { code, kind: 'Exception', title: text.cause, ...text, example };
});

const all = [...problems, ...faults, ...reasons, ...obstacles, ...exclusions, ...exceptions];

/** The answer, or the fault of a row, that shows a code. */
function show(code: FaultCode, example: CodeText['example']): unknown {
  if (typeof example === 'object' && 'column' in example) {
    const { column, detail } = example;
    return { row: 3, line: 4, column, code, detail };
  }
  const fault = typeof example === 'string' ? [] : [{ ...example, code }];
  const detail = typeof example === 'string' ? example : example.detail;
  const problem: ErrorCode = code in errorCatalog ? (code as ErrorCode) : 'invalid_request';
  return JSON.parse(
    describeProblem(new AppError(problem, detail, { faults: fault }), 'req_179b0pp2u10').body,
  );
}

/** The page (HTML) of a code; undefined for any other. */
export function renderProblemPage(code: string): string | undefined {
  const found = all.filter((entry) => entry.code === code);
  if (found.length === 0) return undefined;
  return renderCodes(
    code,
    `${found.map(renderEntry).join('\n')}
<p><a href="/docs">API reference</a></p>`,
  );
}

/** The page (HTML) of all codes, also for whoever followed the address of one that is none. */
export function renderCodeList(unknown?: string): string {
  const said =
    unknown === undefined
      ? 'What each code of an answer means, and what to do.'
      : `<code>${escapeMarkup(unknown)}</code> is no code of this version. These are all:`;
  return renderCodes(
    '',
    `<h1>${unknown === undefined ? 'Codes' : 'No such code'}</h1>
<p class="text">${said}</p>`,
  );
}

function renderCodes(code: string, beginning: string): string {
  return renderPage(
    `${code === '' ? 'Codes' : code}: Outlay`,
    `${beginning}
<h2>Problems</h2>
<p>The <code>code</code> of an answer that is not 200.</p>
${list(problems, code)}
<h2>Faults</h2>
<p>Listed in <code>errors</code>, each with a pointer to the value or the name of the parameter, and in
the rows of a batch. With a single fault, its code is that of the answer.</p>
${list(faults, code)}
<h2>Obstacles</h2>
<p>The <code>code</code> of a refused commit, of a recipient's readiness, and of a missing detail.</p>
${list(obstacles, code)}
<h2>Reasons</h2>
<p>The <code>reason_code</code> of a payout: why it waits or was canceled.</p>
${list(reasons, code)}
<h2>Routing</h2>
<p>In the explanation of a payout's routing: <code>excluded_by</code> of a payer, and <code>kind</code> of
an exception.</p>
${list([...exclusions, ...exceptions], code)}`,
    codeStyle,
  );
}

function renderEntry({ code, kind, title, cause, remedy, example }: Entry): string {
  const heading = title.replace(/\.$/, '');
  return `<p class="kind">${kind}</p>
<h1>${mark(heading)}</h1>
<p><code>${code}</code></p>
${cause === title ? '' : `<p class="text"><b>Cause.</b> ${mark(cause)}</p>\n`}<p class="text"><b>Remedy.</b> ${mark(remedy)}</p>
<pre tabindex="0" aria-label="Example">${escapeMarkup(JSON.stringify(example, null, 2))}</pre>`;
}

function list(entries: readonly Entry[], current: string): string {
  const items = entries.map(
    ({ code, kind, title }) =>
      `<dt><a href="/problems/${code}"${code === current ? ' aria-current="page"' : ''}>` +
      `<code>${code}</code></a> <span>${/\d+/.exec(kind)?.[0] ?? ''}</span></dt>` +
      `<dd>${mark(title)}</dd>`,
  );
  return `<dl>${items.join('\n')}</dl>`;
}

/** Renders back quotes. The texts are trusted, so that nothing is escaped. */
function mark(text: string): string {
  return text.replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

const codeStyle = `
dl { margin: 0; display: grid; grid-template-columns: minmax(0, 20rem) minmax(0, 1fr) }
dt, dd { margin: 0; padding: .45rem 0; border-top: 1px solid var(--line) }
dt { padding-right: 1.25rem }
dt span { color: var(--text-soft) }
a[aria-current] { font-weight: 700; color: inherit }
@media (max-width: 40rem) {
  dl { display: block }
  dd { padding-top: 0; border: 0 }
}
`;
