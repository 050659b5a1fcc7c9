import { takeEarly } from './early.ts';
import { type Call, exchange, readAnswer } from './exchange.ts';
import type { Session } from './session.ts';

/**
 * The operators' part of the API (docs/openapi.json, tag Operators), by the session. Amounts in it are
 * texts and numbers are counts, so it is read as plain JSON. The shapes are in `operator-types.ts`.
 */

const prefix = '/v0.1.4/operator/';

type Asked = Pick<Call, 'body'> & { method?: 'GET' | 'POST' | 'PUT' | 'PATCH' };

export async function askOperator<Answer>(
  { csrf }: Session,
  path: string,
  { method = 'GET', body }: Asked = {},
): Promise<Answer> {
  if (method !== 'GET') return exchange(prefix + path, { method, csrf, body });
  const early = await takeEarly('operator', prefix + path);
  return early === undefined ? exchange(prefix + path) : readAnswer(early);
}
