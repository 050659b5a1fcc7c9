import { createRefusal } from '../../../../sdk/src/errors.ts';
import { takeEarly } from './early.ts';
import type { Session } from './session.ts';

/**
 * The operators' part of the API (docs/openapi.json, tag Operators), by the session. Amounts in it are
 * texts and numbers are counts, so it is read as plain JSON. The shapes are in `operator-types.ts`.
 */

const prefix = '/v0.1.4/operator/';

type Call = { method?: 'GET' | 'POST' | 'PUT' | 'PATCH'; body?: object };

export async function askOperator<Answer>(
  { csrf }: Session,
  path: string,
  { method = 'GET', body }: Call = {},
): Promise<Answer> {
  const early = method === 'GET' ? await takeEarly('operator', prefix + path) : undefined;
  const response =
    early ??
    (await fetch(prefix + path, {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json', 'outlay-csrf': csrf }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }));
  const answer: unknown = await response.json();
  if (response.ok) return answer as Answer;
  throw createRefusal({ status: response.status, body: answer, retryAfterMs: undefined });
}
