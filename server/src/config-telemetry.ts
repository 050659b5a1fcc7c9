import { z } from 'zod';
import { choice, setting, text, wholeNumber } from './config-values.ts';
import { decodePercent } from './core/percent-encoding.ts';

/** The settings of traces. Names and defaults are those of the OpenTelemetry specification. */

const address = text.refine((value) => value === undefined || URL.canParse(value), {
  error: 'must be a URL such as http://localhost:4318',
});

/** `key=value,key=value`, percent-encoded; undefined where a pair has no key or no value. */
function readPairs(listed: string): ReadonlyMap<string, string> | undefined {
  const pairs = new Map<string, string>();
  for (const part of listed.split(',')) {
    const at = part.indexOf('=');
    if (at < 1) return undefined;
    const value = decodePercent(part.slice(at + 1).trim());
    if (value === undefined) return undefined;
    pairs.set(part.slice(0, at).trim(), value);
  }
  return pairs;
}

const pairs = text.transform((value, context): ReadonlyMap<string, string> => {
  const read = value === undefined ? new Map<string, string>() : readPairs(value);
  if (read !== undefined) return read;
  context.addIssue({ code: 'custom', message: 'must be key=value pairs separated by commas' });
  return z.NEVER;
});

const ratio = z
  .string()
  .optional()
  .transform((value) => (value === undefined ? 1 : Number(value)))
  .refine((value) => value >= 0 && value <= 1, { error: 'must be a number from 0 to 1' });

const samplers = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const;

export const telemetrySettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    address,
    'Base URL of an OTLP/HTTP receiver, to which /v1/traces is appended; no traces when empty',
    'http://localhost:4318',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    address,
    'The same with its path, instead of OTEL_EXPORTER_OTLP_ENDPOINT',
    'http://localhost:4318/v1/traces',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: setting(
    pairs,
    'Headers of requests to the receiver, key=value separated by commas; may hold a secret',
    'authorization=Bearer%20...',
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: setting(
    choice(['http/protobuf'], 'http/protobuf'),
    'Only http/protobuf',
    'http/protobuf',
  ),
  OTEL_EXPORTER_OTLP_TIMEOUT: setting(
    wholeNumber({ min: 1, max: 600_000, otherwise: 10_000 }),
    'Milliseconds in which the receiver must answer',
    '10000',
  ),
  OTEL_TRACES_EXPORTER: setting(
    choice(['otlp', 'none'], 'otlp'),
    'none: no traces although a receiver is set',
    'otlp',
  ),
  OTEL_SDK_DISABLED: setting(choice(['true', 'false'], 'false'), 'true: the same', 'false'),
  OTEL_TRACES_SAMPLER: setting(
    choice(samplers, 'parentbased_always_on'),
    `Which traces are recorded: ${samplers.join(', ')}`,
    'parentbased_traceidratio',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(ratio, 'Share of traces for samplers with a ratio', '0.01'),
  OTEL_SERVICE_NAME: setting(
    text.transform((value) => value ?? 'outlay'),
    'Name of the service in traces',
    'outlay',
  ),
  OTEL_RESOURCE_ATTRIBUTES: setting(
    pairs,
    'Further attributes of the service in traces, key=value separated by commas',
    'deployment.environment.name=production',
  ),
  OTEL_BSP_SCHEDULE_DELAY: setting(
    wholeNumber({ min: 1, max: 600_000, otherwise: 5_000 }),
    'Milliseconds between two exports',
    '5000',
  ),
  OTEL_BSP_MAX_QUEUE_SIZE: setting(
    wholeNumber({ min: 1, max: 1_000_000, otherwise: 2_048 }),
    'Spans that wait for export; further ones are dropped',
    '2048',
  ),
} as const;
