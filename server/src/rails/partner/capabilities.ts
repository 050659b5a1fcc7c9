import type { CallContext } from '../contract/contract.ts';
import { type Announced, capabilitiesSchema } from './capability-protocol.ts';
import { batchSettingsSchema, type PartnerConfig } from './config.ts';
import { ask, type Setup } from './payments.ts';
import { selectFields } from './required-fields.ts';

/**
 * What the partner announces, compared with the configuration. The configuration decides: a partner's
 * answer alone never changes which personal data leaves or which payments are refused.
 */

/** For `outlay admin doctor`. A partner without optional parts need not have GET /capabilities. */
export async function checkCapabilities(
  setup: Setup,
  context: CallContext,
): Promise<readonly string[]> {
  const { config } = setup;
  const result = await ask(setup, context, { method: 'GET', path: '/capabilities', body: '' });
  if (result.kind !== 'answered' || result.status !== 200) {
    return config.capabilities.length === 0
      ? []
      : ['the partner does not announce its capabilities: GET /capabilities must answer 200'];
  }
  const announced = capabilitiesSchema.safeParse(result.json);
  if (!announced.success) return ['the answer to GET /capabilities does not have its form'];
  return compareCapabilities(setup, announced.data);
}

function compareCapabilities(
  { config, host, order }: Pick<Setup, 'config' | 'host' | 'order'>,
  announced: Announced,
): string[] {
  const faults = config.capabilities
    .filter((capability) => !announced.capabilities.includes(capability))
    .map((capability) => `the partner does not announce the configured capability ${capability}`);
  faults.push(...compareBatchLimits(config, announced));
  for (const { key, countryCode, currencies } of host.payers) {
    for (const currency of currencies) {
      const corridor = { payer: order.payerCodes.get(key) ?? key, countryCode, currency };
      const known = selectFields(config.requiredFields, corridor);
      const missing = [...selectFields(announced.required_fields ?? [], corridor)].filter(
        (field) => !known.has(field),
      );
      for (const field of missing) {
        faults.push(
          `the partner requires ${field} of ${currency} by ${key}: add it to requiredFields`,
        );
      }
    }
  }
  return faults;
}

function compareBatchLimits(
  config: Pick<PartnerConfig, 'capabilities' | 'batches'>,
  { capabilities, batch_limits: limits }: Announced,
): string[] {
  if (!config.capabilities.includes('batches') || !capabilities.includes('batches')) return [];
  if (limits === undefined) return ['the partner announces batches without batch_limits'];
  const { ordersMax, bytesMax } = config.batches ?? batchSettingsSchema.parse({});
  const faults: string[] = [];
  if (ordersMax > Number(limits.orders_max)) {
    faults.push(
      `the partner takes ${limits.orders_max} orders in a batch: lower batches.ordersMax`,
    );
  }
  if (bytesMax > Number(limits.bytes_max)) {
    faults.push(`the partner takes batches of ${limits.bytes_max} bytes: lower batches.bytesMax`);
  }
  return faults;
}
