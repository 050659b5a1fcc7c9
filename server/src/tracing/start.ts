import type { Config } from '../config.ts';
import type { Tracing } from './tracing.ts';

/** Opens tracing where the settings name a receiver; only then are the packages loaded. */
export async function startTracing(
  config: Config,
  onError: (error: Error) => void,
): Promise<Tracing | undefined> {
  const url = findReceiver(config);
  if (url === undefined) return undefined;
  const { openTracing } = await import('./open-telemetry.ts');
  return openTracing({
    url,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS,
    timeoutMs: config.OTEL_EXPORTER_OTLP_TIMEOUT,
    exportEveryMs: config.OTEL_BSP_SCHEDULE_DELAY,
    queuedMax: config.OTEL_BSP_MAX_QUEUE_SIZE,
    sampler: config.OTEL_TRACES_SAMPLER,
    samplerRatio: config.OTEL_TRACES_SAMPLER_ARG,
    resource: {
      ...Object.fromEntries(config.OTEL_RESOURCE_ATTRIBUTES),
      'service.name': config.OTEL_SERVICE_NAME,
    },
    onError,
  });
}

function findReceiver(config: Config): string | undefined {
  if (config.OTEL_SDK_DISABLED === 'true' || config.OTEL_TRACES_EXPORTER === 'none') {
    return undefined;
  }
  const base = config.OTEL_EXPORTER_OTLP_ENDPOINT;
  const whole = config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  return whole ?? (base === undefined ? undefined : `${base.replace(/\/$/, '')}/v1/traces`);
}
