import { z } from 'zod';
import { passwordLengthMax, passwordLengthMin } from '../operators/passwords.ts';
import { operatorRoles, permissions } from '../operators/roles.ts';

/** What the operations of sessions take and answer. */

const secret = (max: number) => z.string().min(1).max(max);
const code = secret(10).optional().describe('Six digits of the authenticator');

export const loginBody = z
  .union(
    [
      z.strictObject({ link: secret(100).describe('The token of a one-time link') }),
      z.strictObject({ key: secret(100).describe('The key of an operator'), code }),
      z.strictObject({
        operator: secret(100).describe('The name of the operator'),
        password: secret(passwordLengthMax).describe('The password'),
        code,
      }),
    ],
    { error: 'must have link, or key, or operator and password' },
  )
  .meta({ id: 'LoginRequest' });

export const passwordBody = z
  .strictObject({
    password: z.string().min(passwordLengthMin).max(passwordLengthMax).describe('The new password'),
    current_password: z
      .string()
      .max(passwordLengthMax)
      .optional()
      .describe('Needed where the session began by password'),
  })
  .meta({ id: 'PasswordRequest' });

export const totpBody = z
  .strictObject({
    proposal: secret(400).describe('As it was answered with the secret'),
    code: secret(10).describe('A code of the new secret'),
    current_code: secret(10).optional().describe('A code of the present second factor'),
  })
  .meta({ id: 'SecondFactorRequest' });

export const totpAnswer = z
  .object({
    secret: z.string().describe('The secret in Base32, for an authenticator'),
    uri: z.string().describe('The same as the text of a QR code'),
    proposal: z.string().describe('To be sent back with a code'),
  })
  .meta({ id: 'SecondFactorProposal' });

export const sessionAnswer = z
  .object({
    operator: z
      .object({
        name: z.string().describe('The name'),
        role: z.enum(operatorRoles).describe('The role'),
        permissions: z.array(z.enum(permissions)).describe('What the role allows'),
      })
      .describe('Who is logged in'),
    csrf: z.string().describe('For the header `Outlay-CSRF`'),
    environment: z.enum(['staging', 'live']).describe('Where this session is valid'),
    version: z.string().describe('The newest version of the API'),
    accounts: z
      .array(
        z.object({
          account: z.string().describe('The identifier, for the header `Outlay-Account`'),
          name: z.string().describe('The name'),
        }),
      )
      .describe(
        'Accounts for which the operator may act, the oldest 1,000; `GET /operator/accounts` has all',
      ),
    has_more_accounts: z.boolean().describe('Whether there are more accounts than these'),
    is_restricted: z.boolean().describe('True: only a password and a second factor can be set up'),
    has_password: z.boolean().describe('Whether a password is set'),
    has_totp: z.boolean().describe('Whether a second factor is set up'),
    idle_ends_at: z.string().describe('When it ends without use, UTC'),
    ends_at: z.string().describe('When it ends in any case, UTC'),
  })
  .meta({ id: 'Session' });
