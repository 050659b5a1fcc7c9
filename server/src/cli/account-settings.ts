import {
  findAccountControls as findSettings,
  setAcceptBothTokens,
  setBrand,
  setIdentityTwoPersons,
} from '../accounts/accounts.ts';
import { ConfigError } from '../config.ts';
import type { ApprovalRule } from '../operators/act.ts';
import { setOpenQuoteLimits } from '../payouts/open-quotes.ts';
import { getAccountId } from './account.ts';
import { defineCommand } from './command.ts';
import type { CommandContext } from './context.ts';
import { account, atMost, color, displayName, file, privacyUrl, trueOrFalse } from './options.ts';

/** The settings of an account. What loosens a control needs two people, as the control itself does. */

type Controls = {
  account: string;
  identityTwoPersons?: boolean | undefined;
  openQuotes?: number | undefined;
  openQuotesUsd?: number | undefined;
};

async function findApproval(
  context: CommandContext,
  { account: id, identityTwoPersons, openQuotes, openQuotesUsd }: Controls,
): Promise<ApprovalRule | undefined> {
  const before = await findSettings(context.db.system, await getAccountId(context, id));
  if (before.identity_two_persons && identityTwoPersons === false) return { policy: 'policy' };
  const isRaised = (to: number | undefined, from: bigint): boolean =>
    to !== undefined && BigInt(to) > from;
  return isRaised(openQuotes, before.open_quotes_max) ||
    isRaised(openQuotesUsd, before.open_quotes_usd_max)
    ? { policy: 'limit' }
    : undefined;
}

export const accountSettingsCommands = [
  defineCommand({
    name: 'account set',
    permission: 'operate',
    about:
      'change the settings of an account; two people are needed to raise a limit on open quotes, or to let one person decide about identities',
    options: {
      account,
      acceptBothTokens: trueOrFalse(
        'accept a source and a destination token in one request',
      ).optional(),
      identityTwoPersons: trueOrFalse('decisions about identities need two people').optional(),
      displayName: displayName.optional(),
      color: color.optional(),
      openQuotes: atMost('quotes that may be open at the same time', 1_000_000_000).optional(),
      openQuotesUsd: atMost('value of open quotes, in whole USD', 1_000_000_000_000).optional(),
      logo: file
        .meta({ value: 'path', about: 'picture on its receipts and pages (PNG, JPEG, WebP)' })
        .optional(),
      privacyUrl: privacyUrl.optional(),
    },
    check: ({ account: _account, ...settings }) =>
      Object.values(settings).every((value) => value === undefined)
        ? 'one of --accept-both-tokens, --identity-two-persons, --display-name, --color, --logo, --privacy-url, --open-quotes and --open-quotes-usd is missing'
        : undefined,
    approval: findApproval,
    snapshot: async (context, { account: id }) => {
      return findSettings(context.db.system, await getAccountId(context, id));
    },
    run: async (context, { account: id, acceptBothTokens, identityTwoPersons, ...values }) => {
      const accountId = await getAccountId(context, id);
      const { displayName: shownName, color: brandColor, privacyUrl: notice } = values;
      const logo = values.logo === undefined ? undefined : await readLogo(values.logo);
      await context.db.systemTransaction(async (session) => {
        if (acceptBothTokens !== undefined) {
          await setAcceptBothTokens(session, { accountId, isAccepted: acceptBothTokens });
        }
        if (identityTwoPersons !== undefined) {
          await setIdentityTwoPersons(session, { accountId, isNeeded: identityTwoPersons });
        }
        const { openQuotes: countMax, openQuotesUsd: usdMax } = values;
        await setOpenQuoteLimits(session, { accountId, countMax, usdMax });
        await setBrand(session, {
          accountId,
          displayName: shownName,
          color: brandColor,
          logo,
          privacyUrl: notice,
        });
      });
      return { result: 'done' };
    },
  }),
];

/** Drawn anew as a small PNG, so that nothing but the picture gets into receipts. */
async function readLogo(path: string): Promise<Buffer> {
  // Loaded only here, because every command would wait for it.
  const { default: sharp } = await import('sharp');
  try {
    const picture = sharp(path, { limitInputPixels: 25_000_000 });
    return await picture
      .resize(600, 200, { fit: 'inside', withoutEnlargement: true })
      .png()
      .toBuffer();
  } catch (cause) {
    throw new ConfigError(`--logo must be a picture: ${path}`, { cause });
  }
}
