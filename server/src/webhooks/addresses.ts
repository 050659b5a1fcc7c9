import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';

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
  if (url.protocol === 'https:') return undefined;
  return isLocal
    ? 'must begin with https://; for a program on your machine, use outlay webhooks forward'
    : 'must begin with https://';
}

/** The host without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** The name leads to an address that webhooks must not reach. */
export class RefusedAddress extends Error {}

/** All addresses of a name. @throws Error with the code ENOTFOUND or EAI_AGAIN. */
export type Resolve = (name: string) => Promise<string[]>;

/**
 * Asks the name servers directly. The system's look-up occupies a thread of the process until it ends,
 * so a few names whose servers do not answer would stop everything that uses those threads.
 */
export function createResolve(): Resolve {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  return async (name) => {
    if (name === 'localhost') return ['127.0.0.1', '::1'];
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found;
    const codes = answers.map((answer) =>
      answer.status === 'rejected' ? (answer.reason as { code?: unknown }).code : undefined,
    );
    const isUnknown = codes.every((code) => code === 'ENOTFOUND' || code === 'ENODATA');
    const error = new Error('the name has no address', { cause: answers });
    throw Object.assign(error, { code: isUnknown ? 'ENOTFOUND' : 'EAI_AGAIN' });
  };
}

/**
 * Resolves a name once for a connection, and refuses it if any of its addresses is not allowed. The
 * connection goes to the addresses that were checked.
 */
export function createCheckedLookup(
  rules: AddressRules,
  resolve = createResolve(),
): LookupFunction {
  const find = async (name: string): Promise<LookupAddress[]> => {
    const addresses = await resolve(name);
    if (addresses.length > 0 && addresses.every((address) => isAllowedAddress(address, rules))) {
      return addresses.map((address) => ({ address, family: isIP(address) }));
    }
    throw new RefusedAddress('the name leads to a private or reserved address');
  };
  const findThen = callbackify(find);
  return (name, options, done) => {
    findThen(name, (error, addresses) => {
      const [first = { address: '', family: 0 }] = addresses ?? [];
      if (error !== null) done(error, '', 0);
      else if (options.all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}
