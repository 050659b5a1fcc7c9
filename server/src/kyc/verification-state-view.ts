import { z } from 'zod';
import type { Database } from '../db/postgres/pool.ts';
import { findRecipientReason, measureReviews, recipientReasons } from './decisions.ts';
import { sessionStatuses } from './kyc.sql.ts';
import type { LinkedSession } from './kyc.ts';

/** What the page of a verification shows of its state. It has no data of the person. */

export const verificationStateAnswer = z
  .object({
    status: z.enum(sessionStatuses),
    takes_images: z.boolean().meta({ description: 'Whether three images can be sent now.' }),
    recipient_reason: z
      .enum(['', ...recipientReasons])
      .meta({ description: 'Why the last images were not accepted; "" for no reason given.' }),
    review_seconds: z.int().meta({
      description:
        'The time within which four of five of the last reviews ended; 0 where too few are known.',
    }),
  })
  .meta({ id: 'VerificationLink' });

export async function writeVerificationState(
  db: Database,
  linked: Omit<LinkedSession, 'sessionId'> & { sessionId: string | undefined },
): Promise<z.infer<typeof verificationStateAnswer>> {
  const { accountId, sessionId, submission, status, takesImages } = linked;
  const session = db.tenant(accountId);
  const wasRefused = status === 'Declined' || status === 'Resubmission requested';
  const reason =
    wasRefused && sessionId !== undefined
      ? await findRecipientReason(session, { accountId, sessionId, submission })
      : '';
  const seconds = status === 'Approved' ? undefined : await measureReviews(session, accountId);
  return {
    status,
    takes_images: takesImages,
    recipient_reason: reason,
    review_seconds: seconds ?? 0,
  };
}
