import { choice, setting, text } from './config-values.ts';

/** The settings of identity verification. */

export const identitySettings = {
  OUTLAY_IDENTITY_PROVIDER: setting(
    text,
    'Staging: a provider that gives its opinion on identities, with the bearer token as its password; none when empty (docs/verification.md)',
    'https://:token@identity.example.com/cases',
  ),
  OUTLAY_LIVE_IDENTITY_PROVIDER: setting(text, 'The same for live', ''),
  OUTLAY_IDENTITY_CLEAR: setting(
    choice(['shown', 'approves'], 'shown'),
    "shown: the provider's opinion is for the person who decides; approves: clear approves where nothing that was read speaks against it",
    'shown',
  ),
  OUTLAY_FACE_SIMILARITY: setting(
    choice(['off', 'shown'], 'off'),
    'shown: the faces of an upload are compared, and the person who decides sees how alike they are; needs npm run faces. Read docs/decisions/0064-face-similarity.md first',
    'off',
  ),
} as const;
