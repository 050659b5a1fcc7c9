import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The page that shows the description with the viewer Scalar, whose script comes from npm. */

const packer = join(import.meta.dirname, 'viewer-packer.ts');
const packMsMax = 60_000;
const packedBytesMax = 16 * 1024 * 1024;

let packed: Promise<Buffer> | undefined;

/** The viewer's script, packed by the first request for it and kept so: about a megabyte. */
function packViewer(): Promise<Buffer> {
  packed ??= promisify(execFile)(process.execPath, [packer], {
    // Third-party code: it gets no setting and no secret of the service.
    env: {},
    encoding: 'buffer',
    maxBuffer: packedBytesMax,
    timeout: packMsMax,
  }).then(
    ({ stdout }) => stdout,
    (cause: unknown) => {
      // The next request tries again.
      packed = undefined;
      throw new Error('the viewer could not be packed', { cause });
    },
  );
  return packed;
}

export async function sendViewer(
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const script = await packViewer();
  void reply.type('text/javascript; charset=utf-8').headers({
    'cache-control': 'public, max-age=86400',
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
  });
  if (/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) {
    return reply.header('content-encoding', 'gzip').send(script);
  }
  return reply.send(Readable.from([script]).pipe(createGunzip()));
}

/** Nothing that would leave this host: no fonts, no proxy, no telemetry, no assistant. */
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
#reference:empty::before {
  content: 'Loading the reference';
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
<noscript><p>This page needs JavaScript. The description itself is at
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
