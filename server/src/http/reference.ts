import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';
import { isAcceptable, isPreferredToJson } from './accept.ts';
import { describeService, guides, renderFrontPage } from './reference/front-page.ts';
import { renderCodeList, renderProblemPage } from './reference/problem-page.ts';
import { pageFiles, sendViewer } from './reference/viewer.ts';

/** For integrators: a front page, the API description, guides, and a page for each code. */

/** Generated from the routes by `checks/openapi/`, which `npm run check` proves up to date. */
const descriptionFile = 'openapi.json';
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

const docs = join(import.meta.dirname, '../../../docs');

const frontPageTypes = ['application/json', 'text/html'];

export function addReference(app: FastifyInstance): void {
  let text: string | undefined;
  app.get('/', async (request, reply) => {
    const accept = request.headers.accept ?? '';
    if (!isAcceptable(accept, frontPageTypes)) {
      throw new AppError('not_acceptable', `Accept must allow ${frontPageTypes.join(' or ')}`);
    }
    const service = describeService(readAddress(request), request.environmentName);
    void reply.header('vary', 'accept, host');
    return isPreferredToJson(accept, 'text/html')
      ? sendPage(reply, renderFrontPage(service))
      : reply.type('application/json').send(JSON.stringify(service));
  });
  app.get<{ Params: { name: string } }>('/guides/:name', async (request, reply) => {
    const guide = guides.get(request.params.name);
    if (guide === undefined) throw new AppError('not_found', 'No such guide');
    return reply
      .type('text/plain; charset=utf-8')
      .header('x-content-type-options', 'nosniff')
      .send(await readFile(join(docs, guide.file), 'utf8'));
  });
  app.get('/openapi.json', async (request, reply) => {
    // Read at the first request, so that an idle service does not hold it.
    text ??= JSON.stringify(JSON.parse(await readFile(join(docs, descriptionFile), 'utf8')));
    return reply
      .type('application/json')
      .header('access-control-allow-origin', '*')
      .header('vary', 'host')
      .send(text.replaceAll(describedServer, JSON.stringify(readAddress(request)).slice(1, -1)));
  });
  app.get('/docs', async (_request, reply) => sendPage(reply, pageFiles.page));
  app.get<{ Params: { file: string } }>('/docs/:file', async (request, reply) => {
    const { file } = request.params;
    if (file === 'viewer.js') return sendViewer(request, reply);
    const found = pageFiles.assets.get(file);
    if (found === undefined) throw new AppError('not_found', 'No such file');
    return reply.type(found.type).header('cache-control', 'public, max-age=300').send(found.text);
  });
  app.get('/problems', async (_request, reply) => sendPage(reply, renderCodeList()));
  app.get<{ Params: { code: string } }>('/problems/:code', async (request, reply) => {
    const { code } = request.params;
    const page = renderProblemPage(code);
    if (page !== undefined) return sendPage(reply, page);
    // A person sees the codes that there are; a program gets a problem as everywhere.
    if (isPreferredToJson(request.headers.accept ?? '', 'text/html')) {
      return sendPage(reply.status(404), renderCodeList(code));
    }
    throw new AppError('not_found', 'No such problem code');
  });
}

/** The address that the client used. A proxy may pass any text as its host. */
function readAddress(request: FastifyRequest): string {
  return `${request.protocol}://${request.host}`;
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
