/** What the pages of the reference share. */

/** The colors of the console (web/console/src/styles/tokens.css), light and dark. */
export const brandColors = `
  --page: light-dark(#f6f7f9, #0b0e13); --surface: light-dark(#ffffff, #12161d);
  --sunken: light-dark(#f0f2f5, #0e1218); --line: light-dark(#e3e6eb, #252c38);
  --text: light-dark(#12161d, #eef1f6); --text-soft: light-dark(#434b59, #b9c1ce);
  --accent: light-dark(#2350d8, #84a6ff); --accent-soft: light-dark(#eaf0ff, #18233f);
  --font: "Inter Variable", ui-sans-serif, system-ui, "Segoe UI", Roboto, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "Roboto Mono", Menlo, monospace;
`;

/** Of `brandBar`. */
export const barStyle = `
.bar { border-bottom: 1px solid var(--line); background: var(--surface) }
.bar nav { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.5rem; padding: .75rem 1.25rem }
.bar .brand { display: flex; align-items: center; gap: .6rem; margin-right: auto; font-weight: 660;
  letter-spacing: -.02em; color: var(--text) }
.bar svg { width: 24px; height: 24px; border-radius: 6px }
`;

export const style = `
:root { color-scheme: light dark; ${brandColors} }
body { margin: 0; font: 16px/1.6 var(--font); background: var(--page); color: var(--text) }
${barStyle}
.bar nav, main { max-width: 48rem; margin: 0 auto; padding: .75rem 1.25rem }
main { padding-top: 2.5rem; padding-bottom: 4rem }
h1 { margin: 0 0 .5rem; font-size: 1.75rem; line-height: 1.25; letter-spacing: -.02em }
h2 { margin: 2.75rem 0 1rem; font-size: 1.15rem }
code { font: .92em var(--mono); overflow-wrap: anywhere }
pre { padding: 1rem; border: 1px solid var(--line); border-radius: 10px; background: var(--surface);
  overflow-x: auto; font: .85rem/1.55 var(--mono) }
.kind { margin: 0; color: var(--text-soft) }
.text { font-size: 1.1rem }
a { color: var(--accent); text-decoration: none }
a:hover { text-decoration: underline }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px }
`;

/** The mark is that of the console. */
export const brandBar = `<nav aria-label="Outlay">
<a class="brand" href="/"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" fill="#11161f"/><path d="M10 16a6 6 0 1 1 6 6" fill="none" stroke="#fff" stroke-width="3.2" stroke-linecap="round"/><path d="M16 16h8m-3.4-3.6L24.2 16l-3.6 3.6" fill="none" stroke="#5b8cff" stroke-width="3.2" stroke-linecap="round" stroke-linejoin="round"/></svg>Outlay</a>
<a href="/docs">Reference</a>
</nav>`;

/** @param main HTML. @param moreStyle after that of every page */
export function renderPage(title: string, main: string, moreStyle = ''): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${style}${moreStyle}</style>
</head>
<body>
<header class="bar">${brandBar}</header>
<main>
${main}
</main>
</body>
</html>
`;
}
