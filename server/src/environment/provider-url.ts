import { ConfigError } from '../config.ts';
import { decodePercent } from '../core/percent-encoding.ts';
import { findUrlFault } from '../webhooks/addresses.ts';

/**
 * The address of a provider that is asked over HTTP, and its bearer token, which stands as the password.
 * Undefined where the setting is empty.
 *
 * @throws ConfigError
 */
export function readProviderUrl(
  setting: string,
  text: string | undefined,
): { url: string; token: string } | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const token = decodePercent(url?.password ?? '') ?? '';
  if (url === null || url.username !== '' || !/^[\x21-\x7e]+$/.test(token)) {
    const form = 'https://:token@host/path';
    throw new ConfigError(`${setting} must be a URL with a token as its password: ${form}`);
  }
  url.password = '';
  // An adapter on the same machine may stand between; other private addresses are refused.
  const fault = findUrlFault(url.href, { isLoopbackAllowed: true });
  if (fault !== undefined) throw new ConfigError(`${setting} ${fault}`);
  return { url: url.href, token };
}
