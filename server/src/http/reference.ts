import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';
import { readExamples } from './openapi/examples.ts';
import { buildOpenapi } from './openapi.ts';
import { renderProblemPage } from './reference/problem-page.ts';
import { pageFiles, sendViewer } from './reference/viewer.ts';
import type { BaseServices, Route } from './route.ts';

/** For integrators: the API description, a page that shows it, and a page for each problem. */

/** Replaced by the address that the request used. */
const serverPlaceholder = 'http://server.invalid';

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

export function addReference<S extends BaseServices>(
  app: FastifyInstance,
  routes: readonly Route<S>[],
): void {
  let text: string | undefined;
  app.get('/openapi.json', async (request, reply) => {
    // Built at the first request, so that an idle service does not hold it.
    text ??= JSON.stringify(
      buildOpenapi(routes, { serverUrl: serverPlaceholder, examples: readExamples() }),
    );
    return reply
      .type('application/json')
      .header('access-control-allow-origin', '*')
      .header('vary', 'host')
      .send(text.replaceAll(serverPlaceholder, quoteAddress(request)));
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
