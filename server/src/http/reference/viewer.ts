import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { barStyle, brandBar, brandColors } from './html.ts';

/** The page that shows the API description with the viewer Scalar. */

let packed: Promise<Buffer> | undefined;

/**
 * The viewer's script, about a megabyte compressed. Its package provides it through a Fastify
 * plugin only, and is imported at the first request, so that an idle service does not hold it.
 */
async function packViewer(): Promise<Buffer> {
  const { default: viewer } = await import('@scalar/fastify-api-reference');
  const app = fastify();
  await app.register(viewer, { routePrefix: '/viewer', configuration: { url: '/openapi.json' } });
  const { statusCode, rawPayload } = await app.inject('/viewer/js/scalar.js');
  await app.close();
  if (statusCode !== 200) throw new Error(`the viewer answered ${statusCode} for its script`);
  return promisify(gzip)(rawPayload, { level: 9 });
}

export async function sendViewer(
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  packed ??= packViewer();
  const script = await packed;
  void reply.type('text/javascript; charset=utf-8').headers({
    'cache-control': 'public, max-age=86400',
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
  });
  if (/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) {
    return reply.header('content-encoding', 'gzip').send(script);
  }
  return reply.send(await promisify(gunzip)(script));
}

/** Off is all that would call another host: fonts, proxy, telemetry, assistant. */
const start = `Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: '',
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: false,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  hiddenClients: {
    c: true, clojure: true, objc: true, ocaml: true, powershell: true, r: true, swift: true,
  },
  metaData: { title: 'Outlay API' },
});

// What the viewer leaves without a name, a place in the order of the keyboard, or a label of its own.
const mend = () => {
  for (const button of document.querySelectorAll('#reference button[class*="copy-button"]')) {
    button.setAttribute('aria-label', 'Copy');
  }
  for (const list of document.querySelectorAll('#reference ul.endpoints:not([tabindex])')) {
    list.tabIndex = 0;
  }
  const names = new Set();
  for (const section of document.querySelectorAll('#reference :is(section, [role="region"])')) {
    const label = document.getElementById(section.getAttribute('aria-labelledby') ?? '');
    const text = section.getAttribute('aria-label') ?? label?.textContent ?? '';
    const name = text.trim().toLowerCase();
    if (name !== '' && names.has(name)) {
      section.removeAttribute('aria-labelledby');
      section.removeAttribute('aria-label');
    }
    names.add(name);
  }
};
let isPlanned = false;
new MutationObserver(() => {
  if (isPlanned) return;
  isPlanned = true;
  requestAnimationFrame(() => {
    isPlanned = false;
    mend();
  });
}).observe(document.getElementById('reference'), { childList: true, subtree: true });
`;

const style = `body { margin: 0; background: var(--page) }
:root { color-scheme: light dark; ${brandColors} --scalar-custom-header-height: 49px }
${barStyle}
body > .bar { position: sticky; top: 0; z-index: 10; box-sizing: border-box; height: 49px;
  font: 16px/1.5 var(--font) }
body > .bar a { color: var(--accent); text-decoration: none }
/* The viewer's own names for them. */
.light-mode, .dark-mode {
  --scalar-font: var(--font);
  --scalar-font-code: var(--mono);
  --scalar-color-accent: var(--accent);
  --scalar-background-1: var(--surface);
  --scalar-background-2: var(--page);
  --scalar-background-3: var(--sunken);
  --scalar-background-accent: var(--accent-soft);
  --scalar-border-color: var(--line);
  --scalar-color-1: var(--text);
  --scalar-color-2: var(--text-soft);
  --scalar-color-3: light-dark(#5b6472, #98a2b3);
  --scalar-sidebar-search-color: light-dark(#5b6472, #98a2b3);
  --scalar-color-green: light-dark(#0a6b47, #4cc38a);
  --scalar-color-blue: light-dark(#1a5fb4, #7fb2ff);
  --scalar-color-orange: light-dark(#a63c00, #ffa26b);
  --scalar-color-red: light-dark(#b3261e, #ff8a80);
  --scalar-color-yellow: light-dark(#7a5a00, #e8c35a);
  --scalar-color-purple: light-dark(#6a3fb5, #b79cff);
}
/* A target for fingers, WCAG 2.5.8. */
#reference button.text-sidebar-c-2.absolute { min-width: 24px; min-height: 24px }
.light-mode { color-scheme: light }
.dark-mode { color-scheme: dark }
#reference:empty::before {
  content: 'Loading …';
  display: block;
  padding: 40px 24px;
  font: 16px/1.5 system-ui, sans-serif;
  color: #666;
}
`;

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Outlay API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<div class="bar">${brandBar}</div>
<div id="reference"></div>
<noscript><p>This page needs JavaScript. The description is at
<a href="/openapi.json">/openapi.json</a>.</p></noscript>
<script src="/docs/viewer.js"></script>
<script src="/docs/page.js"></script>
</body>
</html>
`;

type PageFile = { readonly type: string; readonly text: string };

export const pageFiles: {
  readonly page: string;
  readonly assets: ReadonlyMap<string, PageFile>;
} = {
  page,
  assets: new Map([
    ['page.js', { type: 'text/javascript; charset=utf-8', text: start }],
    ['page.css', { type: 'text/css; charset=utf-8', text: style }],
  ]),
};
