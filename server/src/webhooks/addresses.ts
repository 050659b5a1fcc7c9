import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/**
 * Which addresses a webhook may reach. A client chooses the URL, and the request leaves from inside
 * the operator's network, so only globally reachable addresses are allowed (server-side request
 * forgery; Standard Webhooks 1.0, "Server side request forgery"). The ranges are those of the IANA
 * special-purpose address registries.
 */

const reservedV4 = listRanges('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);
/**
 * Global unicast. Outside of it lie loopback, link-local, unique local, multicast, IPv4-mapped and
 * translated (64:ff9b::/96) addresses.
 */
const globalV6 = listRanges('ipv6', ['2000::/3']);
/** Protocol assignments with Teredo, documentation, 6to4, AS112. */
const reservedV6 = listRanges('ipv6', [
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
]);
const loopbackV4 = listRanges('ipv4', ['127.0.0.0/8']);

function listRanges(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

export type AddressRules = { readonly isLoopbackAllowed: boolean };

export function isAllowedAddress(address: string, rules: AddressRules): boolean {
  if (rules.isLoopbackAllowed && isLoopback(address)) return true;
  if (isIP(address) === 4) return !reservedV4.check(address, 'ipv4');
  return (
    isIP(address) === 6 &&
    // BlockList would take an IPv4-mapped address for its IPv4 address.
    !address.toLowerCase().startsWith('::ffff:') &&
    globalV6.check(address, 'ipv6') &&
    !reservedV6.check(address, 'ipv6')
  );
}

function isLoopback(address: string): boolean {
  if (isIP(address) === 4) return loopbackV4.check(address, 'ipv4');
  return address === '::1';
}

/**
 * What is wrong with the URL of an endpoint, if anything. The WHATWG parser turns every spelling of
 * an IPv4 address (octal, hexadecimal, one number) into dotted decimals, which are checked here. The
 * addresses of a name are checked at each connection.
 */
export function findUrlFault(text: string, rules: AddressRules): string | undefined {
  const url = URL.parse(text);
  if (url === null) return 'must be a URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or password';
  if (url.hash !== '') return 'must not contain a fragment';
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isAllowedAddress(host, rules)) {
    return 'must not lead to a private or reserved address';
  }
  const isLocal = host === 'localhost' || isLoopback(host);
  if (url.protocol === 'http:' && rules.isLoopbackAllowed && isLocal) return undefined;
  return url.protocol === 'https:' ? undefined : 'must begin with https://';
}

/** The host without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** The name leads to an address that webhooks must not reach. */
export class RefusedAddress extends Error {}

type Resolve = (
  name: string,
  options: { all: true },
  done: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Resolves a name once for a connection, and refuses it if any of its addresses is not allowed. The
 * connection goes to the addresses that were checked.
 */
export function createCheckedLookup(
  rules: AddressRules,
  resolve: Resolve = systemLookup,
): LookupFunction {
  return (name, options, done) => {
    resolve(name, { all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null) return done(error, '', 0);
      if (
        first === undefined ||
        !addresses.every(({ address }) => isAllowedAddress(address, rules))
      ) {
        return done(new RefusedAddress('the name leads to a private or reserved address'), '', 0);
      }
      if (options.all === true) return done(null, addresses);
      return done(null, first.address, first.family);
    });
  };
}
