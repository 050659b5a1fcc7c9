import { z } from 'zod';
import { missingAnswer } from '../attributes/missing.ts';
import { getCurrency } from '../core/currency.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { formatAmount } from '../core/money.ts';
import { amountAnswer } from '../http/schema.ts';
import { actors, type Obstacle, obstacleCodes, remedies } from './obstacles.ts';

/** An obstacle as an answer of the API. */

export const shortfallAnswer = z
  .object({ amount: amountAnswer, currency_code: z.string() })
  .meta({ id: 'Shortfall' });

export function writeShortfall({ minor, currency }: { minor: bigint; currency: string }) {
  const amount = new JsonNumber(formatAmount(minor, getCurrency(currency)));
  return { amount, currency_code: currency };
}

export const obstacleFields = {
  code: z.enum(obstacleCodes),
  actor: z.enum(actors).describe('Who has to act'),
  retryable: z
    .boolean()
    .describe('Whether the same request can succeed once the actor has acted, or after a while'),
  missing: z.array(missingAnswer).describe('Empty where no detail is missing or wrong'),
  shortfall: shortfallAnswer.optional().describe('Of insufficient funds: what the balance lacks'),
};

export function writeObstacle({ code, missing = [], shortfall }: Obstacle) {
  const [actor, retryable] = remedies[code];
  return {
    code,
    actor,
    retryable,
    missing: [...missing],
    shortfall: shortfall === undefined ? undefined : writeShortfall(shortfall),
  };
}
