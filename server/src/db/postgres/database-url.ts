import { decodePercent } from '../../core/percent-encoding.ts';

/**
 * Database URLs in libpq's form, several hosts included. node-postgres reads one host only, so a
 * URL becomes one connection string per host (PostgreSQL's documentation, 34.1.1.2 and 34.1.1.3).
 */

export type DatabaseTarget = {
  /** One connection string per host, in the order in which they are tried. */
  readonly hosts: readonly string[];
  /** Whether servers that accept no writes, such as standbys, are skipped. */
  readonly mustBeWritable: boolean;
};

/** Values of target_session_attrs. The service writes, so it cannot use a standby. */
const attributes = ['any', 'read-write', 'primary'];

const urlPattern =
  /^(?<scheme>postgres(?:ql)?:\/\/)(?<user>[^/?#]*@)?(?<hosts>[^/?#@]*)(?<path>\/[^?#]*)?(?:\?(?<query>[^#]*))?$/;
const hostPattern = /^(?<name>\[[0-9A-Fa-f:.]+\]|[^:[\]]*)(?::(?<port>\d{1,5}))?$/;

/** A URL that cannot be used. The message names every fault and no part of the URL. */
export class DatabaseUrlError extends Error {}

/** @throws DatabaseUrlError. */
export function parseDatabaseUrl(url: string): DatabaseTarget {
  const parts = urlPattern.exec(url)?.groups;
  if (parts === undefined) {
    throw new DatabaseUrlError(
      'must be postgresql://user@host:port/database; percent-encode special characters in user and password',
    );
  }
  const { scheme = '', user = '', path = '', query = '' } = parts;
  const parameters = new URLSearchParams(query);
  const attribute = parameters.get('target_session_attrs');
  const faults: string[] = [];
  if (attribute !== null && !attributes.includes(attribute)) {
    faults.push(`target_session_attrs must be one of ${attributes.join(', ')}`);
  }
  const addresses = readAddresses(parts['hosts'] ?? '', parameters, faults);
  for (const name of ['target_session_attrs', 'host', 'port']) parameters.delete(name);
  const hosts = addresses.map(({ name, port }) => {
    const own = new URLSearchParams(parameters);
    // The folder of a socket is in the query, as libpq expects it.
    if (name.startsWith('/')) own.set('host', name);
    if (name.startsWith('/') && port !== '') own.set('port', port);
    const authority = name.startsWith('/') ? 'localhost' : name + (port === '' ? '' : `:${port}`);
    const rest = own.size === 0 ? '' : `?${own.toString()}`;
    return `${scheme}${user}${authority}${path}${rest}`;
  });
  if (!hosts.every((one) => URL.canParse(one))) {
    faults.push('has a user, password or host that must be percent-encoded');
  }
  if (faults.length > 0) throw new DatabaseUrlError(faults.join(', and '));
  return { hosts, mustBeWritable: attribute !== 'any' };
}

/** What is wrong with a URL, or undefined. */
export function findUrlFault(url: string): string | undefined {
  try {
    parseDatabaseUrl(url);
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseUrlError) return error.message;
    throw error;
  }
}

type Address = { name: string; port: string };

/**
 * The hosts and ports of the address, over which the `host` and `port` parameters each win. One port is that
 * of all hosts.
 */
function readAddresses(text: string, parameters: URLSearchParams, faults: string[]): Address[] {
  const named = text.split(',').map((one): Address => {
    const match = hostPattern.exec(one)?.groups;
    if (match === undefined) faults.push('each host must be a name or address with at most a port');
    const host = match?.['name'] ?? '';
    return { name: decodePercent(host) ?? host, port: match?.['port'] ?? '' };
  });
  const hosts = parameters.get('host')?.split(',') ?? named.map(({ name }) => name);
  const isOwn = parameters.get('host') === null;
  const given = isOwn ? undefined : named.map(({ port }) => port);
  const ports = parameters.get('port')?.split(',') ?? given;
  if (ports !== undefined && ports.length !== 1 && ports.length !== hosts.length) {
    faults.push('port must hold one port for all hosts or one for each');
  }
  if (hosts.length > 1 && hosts.includes('')) faults.push('no host may be empty among several');
  return hosts.map((name, index) => ({
    name,
    port: (ports?.length === 1 ? ports[0] : ports?.[index]) ?? named[index]?.port ?? '',
  }));
}
