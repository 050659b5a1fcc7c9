import { createPrivateKey, sign } from 'node:crypto';

/**
 * Strong customer authentication of a funding. Wise refuses the request with 403 and a one-time token,
 * and carries it out when it comes again with the token and its signature by the customer's RSA key,
 * whose public part the customer has registered with Wise.
 */

export type Challenge = { readonly oneTimeToken: string };

/** Undefined where the refusal asks for no approval. */
export function readChallenge(status: number, headers: Headers): Challenge | undefined {
  if (status !== 403 || headers.get('x-2fa-approval-result') !== 'REJECTED') return undefined;
  const oneTimeToken = headers.get('x-2fa-approval') ?? '';
  return /^[A-Za-z0-9._-]{1,200}$/.test(oneTimeToken) ? { oneTimeToken } : undefined;
}

/** The headers with which the refused request is sent again. */
export function approve({ oneTimeToken }: Challenge, privatePem: string): Record<string, string> {
  const signature = sign('sha256', Buffer.from(oneTimeToken), createPrivateKey(privatePem));
  return { 'x-2fa-approval': oneTimeToken, 'x-signature': signature.toString('base64') };
}

export function isSigningKey(pem: string): boolean {
  try {
    const key = createPrivateKey(pem);
    const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
    return key.asymmetricKeyType === 'rsa' && modulusLength >= 2048;
  } catch {
    return false;
  }
}
