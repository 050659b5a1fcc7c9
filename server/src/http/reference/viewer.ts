import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { brandColors } from './html.ts';

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
`;

const style = `body { margin: 0 }
:root { color-scheme: light dark; ${brandColors} }
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
}
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
