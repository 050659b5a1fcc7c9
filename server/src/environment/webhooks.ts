import { renderEvents } from '../events/event-view.ts';
import type { AddressRules } from '../webhooks/addresses.ts';
import { createDeliverer, type Deliverer } from '../webhooks/deliverer.ts';
import type { RenderEvents } from '../webhooks/messages.ts';
import type { Foundation } from './foundation.ts';
import type { Payments } from './payments.ts';

/** Live never reaches loopback, whatever the settings say. */
export function readWebhookRules({ config, name }: Foundation): AddressRules {
  const isAllowed = config.OUTLAY_WEBHOOK_LOOPBACK === 'allowed';
  return { isLoopbackAllowed: name === 'staging' && isAllowed };
}

/** Webhooks say what the feed of events answers a credential with every scope. */
export function createWebhookRenderer(
  { db, keys }: Foundation,
  { catalog, rails }: Pick<Payments, 'catalog' | 'rails'>,
): RenderEvents {
  return (accountId, rows) => {
    const session = db.tenant(accountId);
    const reader = { session, keys, accountId, catalog: catalog(), rails, canRead: () => true };
    return renderEvents(reader, rows);
  };
}

export function openDeliverer(
  base: Foundation,
  render: RenderEvents,
  on: { onError: (error: unknown) => void; onWebhookDelivery: (result: string) => void },
): Deliverer {
  const { config, db, keys, clock, realNowMs, steadyMs } = base;
  return createDeliverer({
    db,
    keys,
    renderEvents: render,
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
