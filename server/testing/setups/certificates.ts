import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/**
 * Certificates for tests of TLS, in DER by hand, since Node only reads them: X.509 version 3 (RFC 5280)
 * with P-256 keys, and no more than a client and a server on 127.0.0.1 need.
 */

export type CertificateWithKey = { readonly certificate: string; readonly privateKey: string };

export type Authority = CertificateWithKey & {
  issue(commonName: string, options?: { readonly isExpired?: boolean }): CertificateWithKey;
};

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.of(tag, length), content]);
  const size = length < 256 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 255);
  return Buffer.concat([Buffer.of(tag), size, content]);
}

const sequence = (...parts: Uint8Array[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.of(0), content);
const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));

const nameOf = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))));

function time(atMs: number): Buffer {
  const text = new Date(atMs).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return der(0x18, Buffer.from(text));
}

const dayMs = 86_400_000;

function create(subject: {
  readonly name: string;
  readonly publicKey: KeyObject;
  readonly issuer: string;
  readonly issuerKey: KeyObject;
  readonly isAuthority: boolean;
  readonly endsMs: number;
}): string {
  const { name, publicKey, issuer, issuerKey, isAuthority, endsMs } = subject;
  const basic = sequence(
    oid('551d13'),
    der(0x01, Buffer.of(0xff)),
    der(0x04, isAuthority ? sequence(der(0x01, Buffer.of(0xff))) : sequence()),
  );
  const address = sequence(
    oid('551d11'),
    der(0x04, sequence(der(0x87, Buffer.of(127, 0, 0, 1)), der(0x82, Buffer.from('localhost')))),
  );
  const extensions = isAuthority ? [basic] : [basic, address];
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1), randomBytes(8)),
    ecdsaWithSha256,
    nameOf(issuer),
    sequence(time(endsMs - 400 * dayMs), time(endsMs)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signed = sequence(body, ecdsaWithSha256, bits(sign('sha256', body, issuerKey)));
  const lines = signed.toString('base64').replaceAll(/.{64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

export function createAuthority(): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = keys.publicKey.export({ type: 'spki', format: 'der' });
  // Its own name for each, so that a stranger's authority is not taken for this one.
  const issuer = `authority ${createHash('sha256').update(spki).digest('hex').slice(0, 16)}`;
  const exportKey = (key: KeyObject): string =>
    key.export({ type: 'pkcs8', format: 'pem' }).toString();
  const endsMs = Date.now() + 300 * dayMs;
  const own = { issuer, issuerKey: keys.privateKey };
  return {
    privateKey: exportKey(keys.privateKey),
    certificate: create({
      ...own,
      name: issuer,
      publicKey: keys.publicKey,
      isAuthority: true,
      endsMs,
    }),
    issue: (name, { isExpired = false } = {}) => {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const until = isExpired ? Date.now() - dayMs : endsMs;
      const certificate = create({ ...own, name, publicKey, isAuthority: false, endsMs: until });
      return { certificate, privateKey: exportKey(privateKey) };
    },
  };
}
