import { z } from 'zod';
import { attributeTypes, type Requirement } from './field.ts';

/** What a payout still needs of its recipient, as clients see it on every surface. */

export const identityCodes = [
  'identity_not_started',
  'identity_in_review',
  'identity_declined',
  'identity_resubmission_requested',
] as const;
export type IdentityCode = (typeof identityCodes)[number];

export const missingCodes = [
  'value_missing',
  ...identityCodes,
  'recipient_missing',
  'recipient_invalid',
] as const;
export type MissingCode = (typeof missingCodes)[number];

/** An attribute's part in an option, on every surface that lists requirements. */
export const alternativeAnswer = z
  .object({
    group: z.string().describe('Of the options of a group, one must be complete'),
    option: z.string(),
    label: z.string().describe('Of the option'),
    validation: z.string().describe('The form of the value in this option'),
  })
  .meta({ id: 'AttributeAlternative' });

export function writeAlternatives({ alternatives }: Requirement) {
  return alternatives.map(({ name, ...alternative }) => ({ ...alternative, option: name }));
}

const missingFields = {
  token: z.string().describe('The attribute; "" for a field of the recipient'),
  type: z.enum(['', ...attributeTypes]).describe('"" for a field of the recipient'),
  field: z
    .string()
    .describe('The field of the recipient that PUT /user changes; "" for an attribute'),
  label: z.string(),
  code: z.enum(missingCodes),
  why: z.string().describe('A sentence that can be shown to a person'),
  alternatives: z
    .array(alternativeAnswer)
    .describe('The options that need it: another option of the group does instead. Usually empty'),
  link: z
    .string()
    .describe(
      'Of an identity verification: where the recipient continues. "" where there is nothing to do, and for credentials without `kyc:write`',
    ),
};

export const missingAnswer = z.object(missingFields).meta({ id: 'MissingDetail' });
export type MissingDetail = z.infer<typeof missingAnswer>;

export function describeMissingValue(
  requirement: Requirement,
  { token, others }: { token: string; others: readonly string[] },
): MissingDetail {
  const { type, label, expectedValue } = requirement;
  const unless = others.length === 0 ? '' : ` unless it gets ${others.join(' or ')}`;
  const why = `The destination requires it${unless}, and no value is stored. ${expectedValue}`;
  const alternatives = writeAlternatives(requirement);
  return { token, type, field: '', label, code: 'value_missing', why, alternatives, link: '' };
}

/** How far an identity verification is; `reason`: the reviewer's, "" where there is none. */
export type IdentityState = { code: IdentityCode; reason: string };

const identitySentences: Readonly<Record<IdentityCode, string>> = {
  identity_not_started: 'The recipient has not been verified: send the recipient the link',
  identity_in_review: 'The images of the recipient are being reviewed',
  identity_declined: 'The verification was declined: the recipient can send other images',
  identity_resubmission_requested: 'The reviewer has asked the recipient for new images',
};

export function describeMissingIdentity(
  { type, label }: Requirement,
  token: string,
  { code, reason }: IdentityState,
): MissingDetail {
  const why = identitySentences[code] + (reason === '' ? '' : `. Reason: ${reason}`);
  return { token, type, field: '', label, code, why, alternatives: [], link: '' };
}

/** From the status of the newest verification session; undefined: there is none. */
export function readIdentityCode(sessionStatus: string | undefined): IdentityCode {
  switch (sessionStatus) {
    case 'Submitted':
    case 'Resubmitted':
    case 'Review':
      return 'identity_in_review';
    case 'Declined':
      return 'identity_declined';
    case 'Resubmission requested':
      return 'identity_resubmission_requested';
    default:
      return 'identity_not_started';
  }
}
