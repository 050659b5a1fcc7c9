import { decodePercent } from './percent-encoding.ts';

/** A mail server to which messages are submitted. */
export type SmtpServer = {
  readonly host: string;
  readonly port: number;
  /** TLS from the start (RFC 8314), STARTTLS (RFC 3207), or none: on loopback only. */
  readonly security: 'tls' | 'starttls' | 'none';
  readonly login: { readonly user: string; readonly pass: string } | undefined;
};

/** `smtps://user:password@host:port` or `smtp://…`, percent-encoded; undefined for another text. */
export function readSmtpServer(text: string): SmtpServer | undefined {
  const url = /^smtps?:\/\//.test(text) ? URL.parse(text) : null;
  if (url === null || url.hostname === '' || url.search !== '' || url.hash !== '') return undefined;
  if (!['', '/'].includes(url.pathname)) return undefined;
  const [user, pass] = [decodePercent(url.username), decodePercent(url.password)];
  if (user === undefined || pass === undefined) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isSecure = url.protocol === 'smtps:';
  const isLoopback = host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host);
  return {
    host,
    port: url.port === '' ? (isSecure ? 465 : 587) : Number(url.port),
    security: isSecure ? 'tls' : isLoopback ? 'none' : 'starttls',
    login: user === '' ? undefined : { user, pass },
  };
}
