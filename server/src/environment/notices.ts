import { type Config, ConfigError } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import type { Channel } from '../notices/channel.ts';
import { createEmailChannel } from '../notices/email.ts';
import { type ChannelName, setChannels } from '../notices/notices.ts';
import { createNotifier, type Notifier } from '../notices/notifier.ts';
import { createSmsChannel, readSmsProvider } from '../notices/sms.ts';
import { openTemplates, TemplateError, type Templates } from '../notices/templates.ts';
import { formatReceiptToken, type LinkedPayout } from '../payouts/receipt-link.ts';
import type { Foundation } from './foundation.ts';
import { getPublicUrl } from './public-url.ts';

/** How an environment tells recipients about their payouts. */

export type Report = (channel: ChannelName, result: string) => void;

export type Notices = {
  /** One for each channel. */
  readonly notifiers: readonly Notifier[];
  /** From now on notices are written for the channels of this process, and for no others. */
  announce(): Promise<void>;
};

/** @throws ConfigError that names every fault of the operator's templates. */
export function openNotices(
  base: Foundation,
  on: { onError: (error: unknown) => void; onNotice: Report },
): Notices {
  const { config, name, db, keys, steadyMs, log, repeated } = base;
  const templates = readTemplates(config);
  const options = {
    db,
    keys,
    environment: name,
    templates,
    linkReceipt: (payout: LinkedPayout, since: Date) =>
      `${getPublicUrl(config, name)}/receipt/${formatReceiptToken(keys, payout, since)}`,
    steadyMs,
    onDown: (channel: ChannelName, reason: string) =>
      repeated.occurred(`notices ${channel} ${reason}`, (count) =>
        log.warn({ channel, reason, count }, 'notices wait for their server'),
      ),
    ...on,
  };
  const channels = openChannels(base, templates);
  const names = channels.map((channel) => channel.name);
  return {
    notifiers: channels.map((channel) => createNotifier({ ...options, channel })),
    announce: () => setChannels(db.system, names),
  };
}

/** @throws ConfigError */
export function readTemplates(config: Config): Templates {
  try {
    return openTemplates(config.OUTLAY_NOTICE_TEMPLATES);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new ConfigError(`OUTLAY_NOTICE_TEMPLATES: ${error.message}`, { cause: error });
  }
}

/** The mail server and the SMS provider of an environment. */
export function readServers(config: Config, name: EnvironmentName) {
  const prefix = name === 'live' ? 'OUTLAY_LIVE_' : 'OUTLAY_';
  const sms = config[`${prefix}SMS_URL`];
  return {
    smtp: { setting: `${prefix}SMTP_URL`, server: config[`${prefix}SMTP_URL`] },
    sms: {
      setting: `${prefix}SMS_URL`,
      provider: sms === undefined ? undefined : readSmsProvider(sms),
    },
  };
}

/** @throws ConfigError */
function openChannels(
  { config, name, steadyMs, realNowMs }: Foundation,
  { layout }: Templates,
): Channel[] {
  const { smtp, sms } = readServers(config, name);
  const { OUTLAY_NOTICE_FROM: from } = config;
  const channels: Channel[] = [];
  if (smtp.server !== undefined && from !== undefined) {
    channels.push(createEmailChannel({ server: smtp.server, from, layout }));
  }
  const { provider } = sms;
  if (typeof provider === 'string') throw new ConfigError(`${sms.setting} ${provider}`);
  if (provider !== undefined) channels.push(createSmsChannel({ provider, steadyMs, realNowMs }));
  return channels;
}
