import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { SmtpServer } from '../core/smtp-server.ts';
import { type Channel, type Courier, type Notice, type Outcome, sendMsMax } from './channel.ts';
import { composeEmail } from './compose.ts';

/**
 * Notices by e-mail, submitted by SMTP (RFC 5321). The library is loaded with the first of them: most
 * processes send none.
 */

type ServerOptions = {
  readonly server: SmtpServer;
  /** PEM, in addition to the authorities that Node knows. */
  readonly ca?: string;
  /** For one notice, connection included. */
  readonly timeoutMs?: number;
};

export type EmailOptions = ServerOptions & {
  /** The address of the sender. The name shown with it is the account's. */
  readonly from: string;
  /** The page around the message. */
  readonly layout: string;
};

export function createEmailChannel(options: EmailOptions): Channel {
  return { name: 'email', open: () => openCourier(options) };
}

/** Connects and logs in. @throws Error with what the server answered; it names no recipient. */
export async function checkSmtp(options: ServerOptions): Promise<void> {
  const session = await openSession(options);
  try {
    await session.connect(AbortSignal.timeout(options.timeoutMs ?? 15_000));
  } finally {
    session.close();
  }
}

function openCourier(options: EmailOptions): Courier {
  let session: SmtpSession | undefined;
  return {
    send: async (notice, stopping) => {
      const raw = await writeMessage(notice, options);
      const limit = AbortSignal.timeout(options.timeoutMs ?? sendMsMax);
      const signal = AbortSignal.any([stopping, limit]);
      const envelope = { from: options.from, to: [notice.email], size: raw.length };
      try {
        if (session?.isOpen() !== true) {
          session = await openSession(options);
          await session.connect(signal);
        }
        await session.send(envelope, raw, signal);
        return { kind: 'sent' };
      } catch (error) {
        // The next notice begins with a new session.
        session?.close();
        return judge(error);
      }
    },
    close: () => session?.close(),
  };
}

class TimedOut extends Error {}

type Envelope = { from: string; to: string[]; size: number };

/** A connection whose every step ends with a signal. */
class SmtpSession {
  readonly #connection: SMTPConnection;
  readonly #login: SmtpServer['login'];
  readonly #failed: Promise<never>;

  constructor(connection: SMTPConnection, login: SmtpServer['login']) {
    this.#login = login;
    this.#connection = connection;
    const failed = Promise.withResolvers<never>();
    this.#failed = failed.promise;
    this.#failed.catch(() => undefined);
    this.#connection.on('error', failed.reject);
  }

  isOpen(): boolean {
    return !this.#connection.destroyed;
  }

  async connect(signal: AbortSignal): Promise<void> {
    const login = this.#login;
    await this.#run(signal, (done) => this.#connection.connect(done));
    if (login !== undefined) {
      await this.#run(signal, (done) => this.#connection.login({ ...login }, done));
    }
  }

  async send(envelope: Envelope, raw: Buffer, signal: AbortSignal): Promise<void> {
    await this.#run(signal, (done) => this.#connection.send(envelope, raw, done));
  }

  close(): void {
    if (this.isOpen()) this.#connection.quit();
    this.#connection.close();
  }

  async #run(
    signal: AbortSignal,
    step: (done: (error?: Error | null) => void) => void,
  ): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const end = (): void => ended.reject(new TimedOut('no answer in time'));
    signal.addEventListener('abort', end);
    try {
      if (signal.aborted) end();
      else step((error) => (error ? ended.reject(error) : ended.resolve()));
      await Promise.race([ended.promise, this.#failed]);
    } finally {
      signal.removeEventListener('abort', end);
    }
  }
}

async function openSession({
  server,
  ca,
  timeoutMs = sendMsMax,
}: ServerOptions): Promise<SmtpSession> {
  const { default: Connection } = await import('nodemailer/lib/smtp-connection');
  const { host, port, security, login } = server;
  const waitMs = Math.min(timeoutMs, 20_000);
  const connection = new Connection({
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    connectionTimeout: waitMs,
    greetingTimeout: waitMs,
    dnsTimeout: waitMs,
    socketTimeout: timeoutMs,
    socketCloseTimeout: 1_000,
    maxResponseSize: 64 * 1024,
    allowInternalNetworkInterfaces: true,
    ...(ca === undefined ? {} : { tls: { ca } }),
  });
  return new SmtpSession(connection, login);
}

async function writeMessage(
  { id, recipientName, email, composition, brand }: Notice,
  { from, layout }: EmailOptions,
): Promise<Buffer> {
  const logoId = brand.logo.length > 0 ? `logo.${id}` : '';
  const { subject, text, html } = composeEmail(composition, { layout, color: brand.color, logoId });
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const node = new MailComposer({
    from: { name: composition.values['sender'] ?? '', address: from },
    to: { name: recipientName, address: email },
    subject,
    text,
    html,
    // The same in every try, so that a mail system can discard the second copy.
    messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    headers: {
      // No answers of machines (RFC 3834, section 5).
      'Auto-Submitted': 'auto-generated',
      'Content-Language': composition.culture.language,
    },
    attachments:
      logoId === ''
        ? []
        : [{ cid: logoId, content: brand.logo, contentType: 'image/png', filename: 'logo.png' }],
    disableFileAccess: true,
    disableUrlAccess: true,
    newline: 'win',
  }).compile();
  return node.build();
}

/** Only a refusal of this recipient or this message is final (RFC 5321, section 4.2.1). */
function judge(error: unknown): Outcome {
  const { code, command, responseCode, response } = describe(error);
  const place = command === '' || command === 'CONN' ? '' : ` at ${command}`;
  const isOfMessage = command === 'RCPT TO' || command === 'DATA';
  if (responseCode !== undefined) {
    const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1];
    const reason = `the server answered ${[responseCode, enhanced].filter(Boolean).join(' ')}${place}`;
    const isPermanent = responseCode >= 500 && responseCode !== 503;
    if (isOfMessage && isPermanent) return { kind: 'refused', reason };
    return { kind: 'delayed', reason, isChannelDown: !isOfMessage, retryAfterMs: 0 };
  }
  if (code === 'EENVELOPE' || code === 'EMESSAGE') {
    return { kind: 'refused', reason: `the message cannot be sent${place}` };
  }
  const reason =
    error instanceof TimedOut || code === 'ETIMEDOUT'
      ? 'the server did not answer in time'
      : `the connection failed${code === '' ? '' : `: ${code}`}`;
  return { kind: 'delayed', reason, isChannelDown: true, retryAfterMs: 0 };
}

function describe(error: unknown) {
  const given = (error instanceof Error ? error : {}) as Readonly<Record<string, unknown>>;
  const textOf = (name: string): string => (typeof given[name] === 'string' ? given[name] : '');
  const { responseCode } = given;
  return {
    code: textOf('code'),
    command: textOf('command'),
    response: textOf('response'),
    responseCode: typeof responseCode === 'number' ? responseCode : undefined,
  };
}
