import type { CallContext, RailPrice } from '../contract/contract.ts';
import { type PartnerPrice, pricesSchema } from './capability-protocol.ts';
import { ask, type Setup } from './payments.ts';

/** What the partner asks for payments now. */

/**
 * The answer counts as a whole or not at all; the host checks each price. One that has expired is left
 * out, so that its payer is not offered.
 *
 * @throws Error where there is no definite answer; the last prices stay until they are too old.
 */
export async function readPrices(setup: Setup, context: CallContext): Promise<RailPrice[]> {
  const request = { method: 'GET', path: '/prices', body: '' } as const;
  const result = await ask(setup, context, request);
  if (result.kind !== 'answered' || result.status !== 200) {
    const found = result.kind === 'answered' ? `status ${result.status}` : result.kind;
    throw new Error(`the partner does not state its prices: ${found}`);
  }
  const answer = pricesSchema.safeParse(result.json);
  if (!answer.success) throw new Error('the answer to GET /prices does not have its form');
  const { host, order } = setup;
  const partnerMs = result.createdS * 1000;
  return answer.data.prices.flatMap((price): RailPrice[] => {
    const { payer: code, destination_currency: currency, expires_at: expiresAt } = price;
    const leftMs = expiresAt === undefined ? undefined : Date.parse(expiresAt) - partnerMs;
    if (leftMs !== undefined && leftMs <= 0) return [];
    const payers = host.payers.filter(
      ({ key, currencies }) =>
        (order.payerCodes.get(key) ?? key) === code && currencies.includes(currency),
    );
    // The partner's clock is real time, and the environment's may be ahead.
    const holds = leftMs === undefined ? {} : { holdsUntilMs: host.nowMs() + leftMs };
    return payers.map(({ key }) => ({ payerKey: key, ...describePrice(price), ...holds }));
  });
}

function describePrice(price: PartnerPrice): Omit<RailPrice, 'payerKey'> {
  const { delivery_seconds: deliverySeconds } = price;
  return {
    sourceCurrency: price.source_currency,
    destinationCurrency: price.destination_currency,
    rate: price.rate,
    fee: price.fee.map(({ up_to: upTo, fixed, basis_points: basisPoints }) => ({
      upTo: upTo ?? null,
      fixed,
      basisPoints: Number(basisPoints),
    })),
    ...(deliverySeconds === undefined ? {} : { deliverySeconds: Number(deliverySeconds) }),
  };
}
