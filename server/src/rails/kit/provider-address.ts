import { z } from 'zod';

const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Requests to a provider hold personal data and a secret: plain HTTP stays within one machine. */
function isSafeAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopbackHosts.has(url.hostname));
}

/** The base address of a provider's API in a configuration, without a final slash. */
export const providerAddress = z
  .string()
  .max(1000)
  .refine(isSafeAddress, { error: 'must be an https address without user, query and fragment' })
  .transform((text) => text.replace(/(?<!\/)\/+$/, ''));
