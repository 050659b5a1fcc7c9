import { createPublicKey, randomUUID, verify } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Strong customer authentication: one-time tokens that the customer's registered key must sign. */
export type Approvals = {
  /** Headers of the refusal; undefined where the request is approved. A token approves once. */
  challenge(headers: IncomingHttpHeaders): Readonly<Record<string, string>> | undefined;
};

export function openApprovals(publicPem: string): Approvals {
  const issued = new Set<string>();
  const key = createPublicKey(publicPem);
  return {
    challenge: (headers) => {
      const token = String(headers['x-2fa-approval'] ?? '');
      const signature = Buffer.from(String(headers['x-signature'] ?? ''), 'base64');
      const isKnown = issued.delete(token);
      if (isKnown && verify('sha256', Buffer.from(token), key, signature)) return undefined;
      const next = randomUUID();
      issued.add(next);
      return { 'x-2fa-approval-result': 'REJECTED', 'x-2fa-approval': next };
    },
  };
}
