import type { z } from 'zod';
import {
  loginBody,
  passwordBody,
  sessionAnswer,
  totpAnswer,
  totpBody,
} from '../../server/src/console/session-schemas.ts';
import { refuse } from './common.ts';
import { type ExampleRecord, listExamples } from './examples.ts';
import type { JsonObject, SchemaBook } from './schemas.ts';

/** The paths of the console: its sessions, and its pages. */

type Shape = {
  operationId: string;
  summary: string;
  description: string;
  body?: z.ZodType;
  answer?: z.ZodType;
  status: number;
  isOpen?: true;
};

export function describeConsole(
  book: SchemaBook,
  examples: readonly ExampleRecord[],
): Record<string, JsonObject> {
  const describe = (shape: Shape): JsonObject => describeOperation(shape, { book, examples });
  return {
    '/console/session': {
      post: describe({
        operationId: 'beginSession',
        summary: 'Log in to the console',
        description:
          'By a one-time link, by an operator’s key, or by name and password; with `code` where a second factor is set up. The answer sets the cookie `__Host-outlay-session`. A failed attempt does not say why, and too many are refused.',
        body: loginBody,
        answer: sessionAnswer,
        status: 201,
        isOpen: true,
      }),
      get: describe({
        operationId: 'getSession',
        summary: 'See your session',
        description:
          'With `csrf`, which every request that changes something sends in `Outlay-CSRF`.',
        answer: sessionAnswer,
        status: 200,
      }),
      delete: describe({
        operationId: 'endSession',
        summary: 'Log out',
        description: 'Ends the session at once.',
        status: 204,
      }),
    },
    '/console/password': {
      put: describe({
        operationId: 'setPassword',
        summary: 'Set your password',
        description:
          'Ends your other sessions. A session that began by password gives the current one.',
        body: passwordBody,
        status: 204,
      }),
    },
    '/console/totp': {
      post: describe({
        operationId: 'proposeSecondFactor',
        summary: 'Get a secret for an authenticator',
        description: 'It counts once a code of it was sent with `proposal`.',
        answer: totpAnswer,
        status: 200,
      }),
      put: describe({
        operationId: 'confirmSecondFactor',
        summary: 'Set up the second factor',
        description: 'Ends your other sessions. One that is set up already gives its code, too.',
        body: totpBody,
        status: 204,
      }),
    },
    ...describeConsolePages(),
  };
}

function describeOperation(
  { operationId, summary, description, body, answer, status, isOpen }: Shape,
  { book, examples }: { book: SchemaBook; examples: readonly ExampleRecord[] },
): JsonObject {
  const own = examples.filter((example) => example.operationId === operationId);
  const shown = own.filter((example) => example.answer.status === status);
  const content = (
    schema: z.ZodType,
    side: 'input' | 'output',
    pick: Parameters<typeof listExamples>[1],
  ) => ({
    'application/json': { schema: book.describe(schema, side), ...listExamples(shown, pick) },
  });
  const csrf = { $ref: '#/components/parameters/Csrf' };
  const isRead = operationId === 'getSession';
  const refusals = [400, 401, 403, 429, 500, 503, ...(body === undefined ? [] : [413, 415])];
  return {
    operationId,
    tags: ['Console'],
    summary,
    description,
    ...(isOpen === true || isRead ? {} : { parameters: [csrf] }),
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: content(body, 'input', ({ request }) => request.body),
      },
    }),
    responses: {
      [status]:
        answer === undefined
          ? { description: 'Done.' }
          : {
              description: 'Success.',
              content: content(answer, 'output', (example) => example.answer.body),
            },
      ...Object.fromEntries(refusals.map((code) => [code, refuse(code)])),
    },
    security: isOpen === true ? [] : [{ operatorSession: [] }],
  };
}

function describeConsolePages(): Record<string, JsonObject> {
  const page = (operationId: string, summary: string, type: string): JsonObject => ({
    operationId,
    tags: ['Console'],
    summary,
    description: 'For browsers.',
    responses: {
      200: { description: 'Success.', content: { [type]: { schema: { type: 'string' } } } },
      404: refuse(404),
      503: refuse(503),
    },
    security: [],
  });
  const named = (name: string, description: string): JsonObject => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string' },
  });
  return {
    '/console': { get: page('showConsole', 'Show the console', 'text/html') },
    '/console/{path}': {
      parameters: [named('path', 'The path of a page of the console, or a file of it.')],
      get: page('showConsolePage', 'Show a page of the console', 'text/html'),
    },
    '/console/assets/{name}': {
      parameters: [named('name', 'The name of a file that the pages load.')],
      get: page('getConsoleFile', 'Read a script or style of the console', 'text/javascript'),
    },
  };
}
