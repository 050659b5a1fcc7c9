import { z } from 'zod';
import type { ImageType } from '../intake.ts';

/**
 * The port for a commercial provider of identity checks. It is given the images of a submission and
 * what is known about the user, and gives its opinion at once or later. The opinion stands beside what
 * was read here, for the person who decides; `clear` decides only where the operator has set so.
 */

export const opinionSchema = z
  .object({
    outcome: z
      .enum(['clear', 'consider', 'rejected'])
      .describe('`consider`: a person should look at the reasons'),
    provider: z.string().max(100).describe('Whose opinion it is'),
    reasons: z.array(z.string().max(300)).max(20).describe("In the provider's words"),
    face_similarity: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe('Of the selfie and the portrait, in the measure of the provider'),
    liveness: z
      .enum(['not_checked', 'passed', 'failed'])
      .describe('Only from a capture of the provider itself; one still cannot show it'),
  })
  .meta({ id: 'ProviderOpinion' });
export type Opinion = z.infer<typeof opinionSchema>;

export type IdentityCase = {
  /** The same for every try, so that a provider recognizes a case that it has. */
  readonly id: string;
  readonly images: readonly { readonly type: ImageType; readonly bytes: Buffer }[];
  readonly firstName: string;
  readonly middleName: string;
  readonly lastName: string;
  readonly dateOfBirth: string;
  readonly country: string;
};

export type IdentityProvider = {
  readonly name: string;
  /** Opens the case. Returns the provider's name of it. @throws ProviderError */
  open(identity: IdentityCase, signal: AbortSignal): Promise<string>;
  /** Undefined while the case is open. @throws ProviderError */
  findOpinion(reference: string, signal: AbortSignal): Promise<Opinion | undefined>;
};
