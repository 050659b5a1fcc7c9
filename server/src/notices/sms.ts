import { readRetryAfterMs } from '../core/retry-after.ts';
import { findUrlFault } from '../webhooks/addresses.ts';
import { createSender, type SenderOptions, type SendResult } from '../webhooks/sender.ts';
import { createSigner, signMessage } from '../webhooks/signatures.ts';
import type { Channel, Notice, Outcome } from './channel.ts';
import { composeSms } from './compose.ts';

/**
 * Notices by SMS, through a provider that takes JSON over HTTP (docs/guides/notices.md). Its answers
 * are bounded, and redirects are not followed.
 */

export type SmsProvider = {
  readonly url: string;
  /** The bearer token, and the key of the signature. */
  readonly token: string;
};

export type SmsOptions = Pick<SenderOptions, 'steadyMs'> & {
  readonly provider: SmsProvider;
  readonly realNowMs: () => number;
  readonly timeoutMs?: number;
};

/** An adapter on the same machine may stand between; other private addresses are refused. */
const addressRules = { isLoopbackAllowed: true };
const timeoutMsDefault = 15_000;

/** A URL with the token as its password; a text that begins with "must" for another one. */
export function readSmsProvider(text: string): SmsProvider | string {
  const url = URL.parse(text);
  if (url === null) return 'must be a URL';
  const token = /%(?![0-9A-Fa-f]{2})/.test(url.password) ? '' : decodeURIComponent(url.password);
  if (url.username !== '' || !/^[\x21-\x7e]+$/.test(token)) {
    return 'must have a token as its password, and no user: https://:token@host/path';
  }
  url.password = '';
  return findUrlFault(url.href, addressRules) ?? { url: url.href, token };
}

export function createSmsChannel(options: SmsOptions): Channel {
  const { provider, realNowMs, steadyMs, timeoutMs = timeoutMsDefault } = options;
  const { url, token } = provider;
  const secret = `whsec_${Buffer.from(token).toString('base64')}`;
  const signer = createSigner({ algorithm: 'hmac-sha256', secret });
  return {
    name: 'sms',
    open: () => {
      const sender = createSender({ rules: addressRules, timeoutMs, steadyMs });
      const target = sender.open(url);
      return {
        send: async (notice, signal) => {
          if (notice.mobileNumber === '') {
            return { kind: 'skipped', reason: 'the recipient has no mobile number' };
          }
          const { id } = notice;
          const body = writeBody(notice);
          const timestampSeconds = Math.floor(realNowMs() / 1000);
          const headers = {
            ...signMessage({ id, body, timestampSeconds }, [signer]),
            authorization: `Bearer ${token}`,
            'idempotency-key': id,
          };
          try {
            return judge(await target.send({ headers, body }, signal), realNowMs());
          } catch (error) {
            if (!signal.aborted) throw error;
            const reason = 'the service stopped';
            return { kind: 'delayed', reason, isChannelDown: false, retryAfterMs: 0 };
          }
        },
        close: () => sender.close(),
      };
    },
  };
}

function writeBody({ id, mobileNumber, composition }: Notice): string {
  return JSON.stringify({
    id,
    to: `+${mobileNumber}`,
    text: composeSms(composition),
    language: composition.culture.language,
  });
}

/** 400 and 422 refuse the message; every other failure may be the provider's or the settings'. */
function judge({ error, answer }: SendResult, nowMs: number): Outcome {
  if (error === '') return { kind: 'sent' };
  const reason = `the provider: ${error}`;
  const status = answer?.statusCode ?? 0;
  if (status === 400 || status === 422) return { kind: 'refused', reason };
  const retryAfterMs = readRetryAfterMs(answer?.retryAfter, nowMs);
  return { kind: 'delayed', reason, isChannelDown: true, retryAfterMs };
}
