import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A real mail server, which keeps what it accepted. */

export type Mail = ParsedMail & { envelope: { from: string; to: string[] } };

export type MailServer = AsyncDisposable & {
  readonly port: number;
  readonly url: string;
  readonly mails: Mail[];
  /** Recipients of every try, accepted or not. */
  readonly tries: string[];
};

/** Refuses with this answer. */
export function smtpError(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

export type MailServerOptions = {
  /** Throws to refuse a recipient; never resolves to hang. */
  onRecipient?: (address: string) => void | Promise<void>;
  /** Called when the message has arrived and before it is answered. */
  onMail?: (mail: Mail) => void | Promise<void>;
  server?: SMTPServerOptions;
};

export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const mails: Mail[] = [];
  const tries: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    closeTimeout: 10,
    logger: false,
    ...options.server,
    onRcptTo: ({ address }, _session, done) => {
      tries.push(address);
      void answer(done, () => options.onRecipient?.(address));
    },
    onData: (stream, { envelope }, done) => {
      const { mailFrom, rcptTo } = envelope;
      const from = mailFrom === false ? '' : (mailFrom?.address ?? '');
      void answer(done, async () => {
        const parsed = await simpleParser(stream);
        const mail = { ...parsed, envelope: { from, to: rcptTo.map(({ address }) => address) } };
        await options.onMail?.(mail);
        mails.push(mail);
      });
    },
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    mails,
    tries,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

async function answer(
  done: (error?: Error) => void,
  work: () => void | Promise<void>,
): Promise<void> {
  let fault: Error | undefined;
  try {
    await work();
  } catch (error) {
    fault = error as Error;
  }
  done(fault);
}
