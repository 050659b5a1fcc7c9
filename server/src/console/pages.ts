import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';
import { isSystemError } from '../db/embedded/error.ts';
import { accepts } from './coding.ts';
import { findFirstPaint, parseFirstPaint } from './first-paint.ts';
import { readSessionToken } from './operator-admission.ts';

/**
 * Serves the console's built files: `index.html` for every page of it, and files whose names have a hash
 * of their content under `/console/assets/`, which the build compressed with Brotli beside them.
 */

const builtFiles = join(import.meta.dirname, '../../../web/console/dist');

/** Where the page has it, it stands for the nonce of the answer. */
const noncePlace = '__CSP_NONCE__';

const mediaTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
};
const packedTypes: ReadonlySet<string> = new Set(['.js', '.css', '.json', '.svg', '.wasm']);

/** Where the page has it, it becomes `yes` for a browser that brings the cookie of a session. */
const sessionPlace = '__HAS_SESSION__';

/** Where the page has them, they become what its address shows before the program runs. */
const headPlace = '<!-- page -->';
const bodyPlace = '<!-- first paint -->';
const environmentPlace = '__ENVIRONMENT__';

/** No path leads out of the folder: a name has no slash and does not begin with a dot. */
const namePattern = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,150}$/;

/** The files of a few builds, compressed. */
const packedMax = 500;

export function addConsolePages(app: FastifyInstance, folder = builtFiles): void {
  const packed = new Map<string, Promise<Buffer>>();
  app.get<{ Params: { name: string } }>('/console/assets/:name', async (request, reply) => {
    const { name } = request.params;
    const file = await findFile(join(folder, 'assets'), name);
    if (file === undefined) throw new AppError('not_found', 'No such file');
    void reply.header('cache-control', 'public, max-age=31536000, immutable');
    if (!packedTypes.has(extname(name))) return sendFile(reply, name, file);
    void reply.header('vary', 'accept-encoding');
    const accepted = request.headers['accept-encoding'] ?? '';
    const built = accepts(accepted, 'br')
      ? await findFile(join(folder, 'assets'), `${name}.br`)
      : undefined;
    if (built !== undefined) return sendFile(reply.header('content-encoding', 'br'), name, built);
    if (!accepts(accepted, 'gzip')) return sendFile(reply, name, file);
    const known = packed.get(name) ?? promisify(gzip)(file, { level: 9 });
    if (packed.size < packedMax) packed.set(name, known);
    return sendFile(reply.header('content-encoding', 'gzip'), name, await known);
  });
  const sendConsole = async (request: FastifyRequest, reply: FastifyReply) => {
    const { '*': path = '' } = request.params as { '*'?: string };
    const file = extname(path) in mediaTypes ? await findFile(folder, path) : undefined;
    if (file !== undefined) {
      return sendFile(reply.header('cache-control', 'public, max-age=300'), path, file);
    }
    const page = await findFile(folder, 'index.html');
    if (page === undefined) return sendPage(reply.code(503), notBuilt);
    const painted = await findFile(folder, 'first-paint.json');
    const hasSession = readSessionToken(request) !== undefined;
    const { head, body } =
      painted === undefined
        ? { head: '', body: '' }
        : findFirstPaint(parseFirstPaint(painted.toString('utf8')), { pathname: path, hasSession });
    const html = page
      .toString('utf8')
      .replace(headPlace, () => head)
      .replace(bodyPlace, () => body.replace(environmentPlace, request.environmentName))
      .replace(sessionPlace, hasSession ? 'yes' : 'no');
    return sendPage(reply, html);
  };
  app.get('/console', sendConsole);
  app.get('/console/*', sendConsole);
}

async function findFile(folder: string, name: string): Promise<Buffer | undefined> {
  if (!namePattern.test(name)) return undefined;
  try {
    return await readFile(join(folder, name));
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function sendFile(reply: FastifyReply, name: string, file: Buffer): FastifyReply {
  return reply.type(mediaTypes[extname(name)] ?? 'application/octet-stream').send(file);
}

function sendPage(reply: FastifyReply, html: string): FastifyReply {
  const nonce = randomBytes(18).toString('base64url');
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return reply
    .type('text/html; charset=utf-8')
    .headers({
      'content-security-policy': policy,
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
      // A nonce must not be used twice.
      'cache-control': 'no-store',
    })
    .send(html.replaceAll(noncePlace, nonce));
}

const notBuilt = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Outlay console</title>
<style nonce="${noncePlace}">
body { max-width: 40rem; margin: 4rem auto; padding: 0 1.5rem; font: 1rem/1.6 system-ui, sans-serif }
</style>
</head>
<body>
<h1>The console is not built</h1>
<p>This installation lacks the console's files (<code>web/console/dist</code>). The service itself works:
see the <a href="/docs">API reference</a>, or use the commands <code>npm run outlay -- admin</code>.</p>
</body>
</html>
`;
