/** What the pages of the reference share. */

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

export const style = `
:root { color-scheme: light dark; --line: #8884 }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif }
main { max-width: 48rem; margin: 0 auto; padding: 3rem 1.25rem 4rem }
h1 { margin: 0 0 .5rem; font-size: 1.75rem; line-height: 1.25 }
h2 { margin: 2.75rem 0 1rem; font-size: 1.15rem }
code { font: .92em ui-monospace, monospace; overflow-wrap: anywhere }
pre { padding: 1rem; border: 1px solid var(--line); overflow-x: auto; font-size: .85rem }
.kind { margin: 0; opacity: .7 }
.text { font-size: 1.1rem }
a { color: light-dark(#0b57d0, #8ab4f8) }
`;
