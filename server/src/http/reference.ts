import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';
import { renderProblemPage } from './reference/problem-page.ts';
import { pageFiles, sendViewer } from './reference/viewer.ts';

/** For integrators: the API description, a page that shows it, and a page for each problem. */

/** Generated from the routes by `checks/openapi/`, which `npm run check` proves up to date. */
const descriptionFile = join(import.meta.dirname, '../../../docs/openapi.json');
/** The server that the file names, replaced by the address that the request used. */
const describedServer = 'http://127.0.0.1:8080';

/**
 * The viewer sets styles from scripts, hence `unsafe-inline`; scripts come from this host alone,
 * and no other host is contacted.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function addReference(app: FastifyInstance): void {
  let text: string | undefined;
  app.get('/openapi.json', async (request, reply) => {
    // Read at the first request, so that an idle service does not hold it.
    text ??= JSON.stringify(JSON.parse(await readFile(descriptionFile, 'utf8')));
    return reply
      .type('application/json')
      .header('access-control-allow-origin', '*')
      .header('vary', 'host')
      .send(text.replaceAll(describedServer, quoteAddress(request)));
  });
  app.get('/docs', async (_request, reply) => sendPage(reply, pageFiles.page));
  app.get<{ Params: { file: string } }>('/docs/:file', async (request, reply) => {
    const { file } = request.params;
    if (file === 'viewer.js') return sendViewer(request, reply);
    const found = pageFiles.assets.get(file);
    if (found === undefined) throw new AppError('not_found', 'No such file');
    return reply.type(found.type).header('cache-control', 'public, max-age=300').send(found.text);
  });
  app.get<{ Params: { code: string } }>('/problems/:code', async (request, reply) => {
    const page = renderProblemPage(request.params.code);
    if (page === undefined) throw new AppError('not_found', 'No such problem code');
    return sendPage(reply, page);
  });
}

/** The address that the client used, escaped for a JSON string. */
function quoteAddress(request: FastifyRequest): string {
  return JSON.stringify(`${request.protocol}://${request.host}`).slice(1, -1);
}

function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .headers({
      'content-security-policy': contentSecurityPolicy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    })
    .send(html);
}
