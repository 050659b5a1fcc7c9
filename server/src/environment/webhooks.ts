import type { AddressRules } from '../webhooks/addresses.ts';
import { createDeliverer, type Deliverer } from '../webhooks/deliverer.ts';
import type { Foundation } from './foundation.ts';

/** Live never reaches loopback, whatever the settings say. */
export function readWebhookRules({ config, name }: Foundation): AddressRules {
  const isAllowed = config.OUTLAY_WEBHOOK_LOOPBACK === 'allowed';
  return { isLoopbackAllowed: name === 'staging' && isAllowed };
}

export function openDeliverer(
  base: Foundation,
  on: { onError: (error: unknown) => void; onWebhookDelivery: (result: string) => void },
): Deliverer {
  const { config, db, keys, clock, realNowMs, steadyMs } = base;
  return createDeliverer({
    db,
    keys,
    nowMs: clock.nowMs,
    realNowMs,
    steadyMs,
    rules: readWebhookRules(base),
    timeoutMs: config.OUTLAY_WEBHOOK_SECONDS * 1000,
    concurrencyMax: config.OUTLAY_WEBHOOK_CONCURRENCY,
    onDelivery: on.onWebhookDelivery,
    onError: on.onError,
  });
}
