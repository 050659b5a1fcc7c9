import assert from 'node:assert/strict';
import type { KeyRing } from '../../src/core/sealing.ts';
import type { Session } from '../../src/db/postgres/pool.ts';
import { openStagingApp, type StagingApp } from './staging-app.ts';

/** The operators' API over HTTP, with a person for each role. */

export type OperatorReply<Body> = { status: number; body: Body; requestId: string };

export type OperatorCall = {
  /** `ada` is owner, `bob` approver, `vic` viewer, `cora` compliance. */
  readonly by: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

export type OperatorCalls<Body> = AsyncDisposable & {
  readonly staging: StagingApp;
  /** By name; a test may add a key. */
  readonly keys: Record<string, string>;
  readonly services: { session: Session; keys: KeyRing };
  /** @param request method and path, which follows `/operator/` */
  send(request: string, call: OperatorCall): Promise<OperatorReply<Body>>;
};

export async function openOperatorCalls<Body>(): Promise<OperatorCalls<Body>> {
  const staging = await openStagingApp();
  const keys: Record<string, string> = {};
  for (const [name, role] of [
    ['ada', 'owner'],
    ['bob', 'approver'],
    ['vic', 'viewer'],
    ['cora', 'compliance'],
  ] as const) {
    keys[name] = await staging.createOperator(name, role);
  }
  const env = staging.app.environments.staging ?? assert.fail('staging is open');
  return {
    staging,
    keys,
    services: { session: env.db.system, keys: env.keys },
    send: async (request, { by, body, headers = {} }) => {
      const [method = '', path = ''] = request.split(' ');
      const response = await fetch(`${staging.baseUrl}/v0.1.4/operator/${path}`, {
        method,
        headers: {
          authorization: `Bearer ${keys[by] ?? ''}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body === undefined ? null : JSON.stringify(body),
      });
      return {
        status: response.status,
        body: (await response.json()) as Body,
        requestId: response.headers.get('x-request-id') ?? '',
      };
    },
    [Symbol.asyncDispose]: () => staging[Symbol.asyncDispose](),
  };
}
