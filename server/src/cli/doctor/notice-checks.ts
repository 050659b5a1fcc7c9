import { type Config, ConfigError } from '../../config.ts';
import type { EnvironmentName } from '../../core/access.ts';
import type { SmtpServer } from '../../core/smtp-server.ts';
import { readServers, readTemplates } from '../../environment/notices.ts';
import { checkSmtp } from '../../notices/email.ts';
import { type Finding, formatCause, passed, problem } from './finding.ts';

/** Notices to recipients: the mail server, the SMS provider's URL, the templates. Sends nothing. */

export function checkTemplates(config: Config): Finding[] {
  if (config.OUTLAY_NOTICE_TEMPLATES === undefined) return [];
  try {
    const { ownCount } = readTemplates(config);
    return [passed(`OUTLAY_NOTICE_TEMPLATES has ${ownCount} templates`)];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('; ').map(problem);
  }
}

type Place = { config: Config; name: EnvironmentName };

export async function checkNotices({ config, name }: Place): Promise<Finding[]> {
  const { smtp, sms } = readServers(config, name);
  return [
    ...(smtp.server === undefined ? [] : [await checkMailServer(name, smtp.server, smtp.setting)]),
    ...(typeof sms.provider === 'string' ? [problem(`${sms.setting} ${sms.provider}`)] : []),
  ];
}

async function checkMailServer(
  name: EnvironmentName,
  server: SmtpServer,
  setting: string,
): Promise<Finding> {
  const place = `${name}: the mail server ${server.host}:${server.port}`;
  try {
    await checkSmtp({ server });
    return passed(`${place} ${server.login === undefined ? 'answers' : 'accepts the login'}`);
  } catch (error) {
    const cause = formatCause(error).replaceAll(/\s+/g, ' ');
    return problem(`${place}: ${cause}; correct ${setting}, or start the server`);
  }
}
