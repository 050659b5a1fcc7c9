import { type ErrorCode, errorCatalogue } from '../../core/errors.ts';
import { faultTexts, problemTexts } from './problem-texts.ts';

/** The page of a problem, with a list of all problems below it. */

type Entry = { code: string; title: string; status: number | undefined; text: string };

const problems: readonly Entry[] = (Object.keys(errorCatalogue) as ErrorCode[]).map((code) => ({
  code,
  ...errorCatalogue[code],
  text: problemTexts[code],
}));

const faults: readonly Entry[] = Object.entries(faultTexts).map(([code, text]) => ({
  code,
  title: 'A fault in one value',
  status: undefined,
  text,
}));

/** The page (HTML) of the code of a problem or of a fault; undefined for any other. */
export function renderProblemPage(code: string): string | undefined {
  const found =
    problems.find((entry) => entry.code === code) ?? faults.find((entry) => entry.code === code);
  if (found === undefined) return undefined;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${found.code}: Outlay</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<p class="kind">${found.status === undefined ? 'Fault' : `Problem, HTTP ${found.status}`}</p>
<h1>${found.title}</h1>
<p><code>${found.code}</code></p>
<p class="text">${mark(found.text)}</p>
<p><a href="/docs">API reference</a></p>
<h2>All problems</h2>
${list(problems, code)}
<h2>Faults</h2>
<p>Listed in <code>errors</code>, each with a pointer to the value or the name of the parameter.</p>
${list(faults, code)}
</main>
</body>
</html>
`;
}

function list(entries: readonly Entry[], current: string): string {
  const items = entries.map(
    (entry) =>
      `<dt><a href="/problems/${entry.code}"${entry.code === current ? ' aria-current="page"' : ''}>` +
      `<code>${entry.code}</code></a>${entry.status === undefined ? '' : ` <span>${entry.status}</span>`}</dt>` +
      `<dd>${entry.status === undefined ? mark(entry.text) : entry.title}</dd>`,
  );
  return `<dl>${items.join('\n')}</dl>`;
}

/** Renders back quotes. The texts are trusted, so that nothing is escaped. */
function mark(text: string): string {
  return text.replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

const style = `
:root { color-scheme: light dark; --line: #8884 }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif }
main { max-width: 48rem; margin: 0 auto; padding: 3rem 1.25rem 4rem }
h1 { margin: 0 0 .5rem; font-size: 1.75rem; line-height: 1.25 }
h2 { margin: 2.75rem 0 1rem; font-size: 1.15rem }
code { font: .92em ui-monospace, monospace; overflow-wrap: anywhere }
.kind { margin: 0; opacity: .7 }
.text { font-size: 1.1rem }
a { color: light-dark(#0b57d0, #8ab4f8) }
dl { margin: 0; display: grid; grid-template-columns: minmax(0, 20rem) minmax(0, 1fr) }
dt, dd { margin: 0; padding: .45rem 0; border-top: 1px solid var(--line) }
dt span { opacity: .7 }
a[aria-current] { font-weight: 700; color: inherit }
@media (max-width: 40rem) {
  dl { display: block }
  dd { padding-top: 0; border: 0 }
}
`;
