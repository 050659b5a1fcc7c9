/**
 * Sent with every answer, those of the parser and of overload included. A route may replace one: pages
 * have policies of their own, and files that are the same for everyone may be cached.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  // An answer that a browser shows by itself loads nothing, runs nothing and cannot be framed.
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

/** Two years; sent only where clients reach the service by https (RFC 6797 7.2). */
export const strictTransport = { 'strict-transport-security': 'max-age=63072000' };
