import {
  createAccount,
  findAccount,
  listAccounts,
  setAcceptBothTokens,
  setBrand,
  setIdentityTwoPersons,
} from '../accounts/accounts.ts';
import { ConfigError } from '../config.ts';
import { amountFaults } from '../core/amount-faults.ts';
import { formatAmount, parseAmount } from '../core/money.ts';
import { fundBalance } from '../ledger/ledger.ts';
import { setOpenQuoteLimits } from '../payouts/open-quotes.ts';
import { defineCommand } from './command.ts';
import type { CommandContext } from './context.ts';
import {
  account,
  amount,
  atMost,
  color,
  currency,
  displayName,
  file,
  name,
  trueOrFalse,
} from './options.ts';

export const accountCommands = [
  defineCommand({
    name: 'account list',
    about: 'list the accounts of clients',
    options: {},
    run: ({ db }) => listAccounts(db.system),
  }),
  defineCommand({
    name: 'account create',
    about: 'create an account; its secrets are shown only once',
    options: { name },
    run: ({ db, name: environmentName }, values) =>
      db.systemTransaction((session) => createAccount(session, { ...values, environmentName })),
  }),
  defineCommand({
    name: 'account fund',
    about: 'record money that came in from outside',
    options: { account, currency, amount },
    run: async (context, values) => {
      const parsed = parseAmount(values.amount, values.currency);
      if (!parsed.ok) {
        throw new ConfigError(amountFaults('--amount', parsed.fault, values.currency).detail);
      }
      const accountId = await getAccountId(context, values.account);
      const { code } = values.currency;
      const wallet = await context.db.systemTransaction((session) =>
        fundBalance(session, { accountId, currency: code, amountMinor: parsed.minor }),
      );
      return { ...wallet, balance: formatAmount(wallet.balance, values.currency) };
    },
  }),
  defineCommand({
    name: 'account set',
    about: 'change the settings of an account',
    options: {
      account,
      acceptBothTokens: trueOrFalse(
        'accept a source and a destination token in one request',
      ).optional(),
      identityTwoPersons: trueOrFalse('decisions about identities need two persons').optional(),
      displayName: displayName.optional(),
      color: color.optional(),
      openQuotes: atMost('quotes that may be open at the same time', 1_000_000_000).optional(),
      openQuotesUsd: atMost('value of open quotes, in whole USD', 1_000_000_000_000).optional(),
      logo: file
        .meta({ value: 'path', about: 'picture on its receipts (PNG, JPEG, WebP)' })
        .optional(),
    },
    check: ({ account: _account, ...settings }) =>
      Object.values(settings).every((value) => value === undefined)
        ? 'one of --accept-both-tokens, --identity-two-persons, --display-name, --color, --logo, --open-quotes and --open-quotes-usd is missing'
        : undefined,
    run: async (context, { account: id, acceptBothTokens, identityTwoPersons, ...values }) => {
      const accountId = await getAccountId(context, id);
      const { displayName: shownName, color: brandColor } = values;
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
        await setBrand(session, { accountId, displayName: shownName, color: brandColor, logo });
      });
      return 'Done.';
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

/** @throws ConfigError where the environment has no such account. */
export async function getAccountId({ db, name: environmentName }: CommandContext, id: string) {
  if ((await findAccount(db.system, id)) !== undefined) return id;
  throw new ConfigError(
    `account not found in ${environmentName}: outlay admin account list shows all`,
  );
}
