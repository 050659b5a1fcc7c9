import { z } from 'zod';

/** What the routes of all recipient pages share. */

export const linkParams = z.object({
  token: z.string().max(500).describe('The secret part of a recipient link'),
});
export const verifyParams = z.object({
  token: z.string().max(500).describe('The secret part of a verification link'),
});
export const page = {
  tag: 'Recipient page',
  access: 'public',
  isVersioned: false,
  unknownParameters: 'ignored',
} as const;
