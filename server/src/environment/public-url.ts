import type { Config } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';

/**
 * The address under which others reach an environment; "" where none is set. OUTLAY_PUBLIC_URL is that of
 * the default environment, and the other one has a label of its own in it (docs/operations.md).
 */
export function getPublicUrl(
  config: Pick<Config, 'OUTLAY_PUBLIC_URL' | 'OUTLAY_DEFAULT_ENVIRONMENT'>,
  name: EnvironmentName,
): string {
  const { OUTLAY_PUBLIC_URL: publicUrl = '', OUTLAY_DEFAULT_ENVIRONMENT: defaultName } = config;
  if (name === defaultName) return publicUrl;
  const label = name === 'live' ? 'api' : 'staging-api';
  return publicUrl.replace(/^(https?:\/\/)(?:(?:staging-)?api\.)?/, `$1${label}.`);
}

/** The same; where none is set, the address of this machine. */
export function getBaseUrl(
  config: Parameters<typeof getPublicUrl>[0] & Pick<Config, 'HOST' | 'PORT'>,
  name: EnvironmentName,
): string {
  return getPublicUrl(config, name) || `http://${config.HOST}:${config.PORT}`;
}
