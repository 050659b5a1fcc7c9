import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { EnvironmentName } from '../core/access.ts';
import { AppError } from '../core/errors.ts';

/** Whom and what a request addresses: environment, route, the client's own address. */

/** @throws AppError malformed_http where the request has no Host, or more than one. */
export function readEnvironment(raw: IncomingMessage, fallback: EnvironmentName): EnvironmentName {
  const hosts = readHeaders(raw, 'host');
  const isOldHttp = raw.httpVersionMajor === 1 && raw.httpVersionMinor === 0;
  if (hosts.length > 1 || (hosts.length === 0 && !isOldHttp)) {
    throw new AppError('malformed_http', 'A request must have exactly one Host header');
  }
  const [host] = hosts;
  if (host !== undefined && !isHost(host)) {
    throw new AppError('malformed_http', 'Malformed Host header');
  }
  return nameEnvironment(host, fallback);
}

export function nameEnvironment(
  host: string | undefined,
  fallback: EnvironmentName,
): EnvironmentName {
  const label = labelPattern.exec(host ?? '')?.[0].toLowerCase();
  if (label === 'api') return 'live';
  return label === 'staging-api' ? 'staging' : fallback;
}

const labelPattern = /^[^.:]*/;

const hostPattern = /^(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?$/;

function isHost(text: string): boolean {
  const match = hostPattern.exec(text);
  return match !== null && Number(match[1] ?? 0) <= 65_535;
}

const absolutePattern = /^https?:\/\/([^/?#]*)(.*)$/is;

/**
 * Makes of an absolute request target, as clients send to proxies, the path and the Host that it names:
 * RFC 9112 3.2.2 lets it override the header.
 */
export function readAbsoluteTarget(request: IncomingMessage): void {
  const [, host, rest = ''] = absolutePattern.exec(request.url ?? '') ?? [];
  if (host === undefined) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  const { rawHeaders, headers } = request;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === 'host') rawHeaders[index + 1] = host;
  }
  if (headers.host !== undefined) headers.host = host;
}

/**
 * The client's IP address without zone or mapping; undefined when a proxy passes something else.
 */
export function findAddress(request: FastifyRequest): string | undefined {
  const { ip } = request;
  const unmapped = ip.startsWith('::ffff:') ? ip.slice(7) : ip;
  const zoneAt = unmapped.indexOf('%');
  const address = zoneAt === -1 ? unmapped : unmapped.slice(0, zoneAt);
  return isIP(address) === 0 ? undefined : address;
}

/** Where clients reach the service: `publicUrl` is the address of the default environment. */
export type PublicAddress = { publicUrl: string | undefined; defaultEnvironment: EnvironmentName };

export function getBaseUrl(request: FastifyRequest, address: PublicAddress): string {
  const isDefault = request.environmentName === address.defaultEnvironment;
  return isDefault && address.publicUrl !== undefined
    ? address.publicUrl
    : `${request.protocol}://${request.host}`;
}

/** The route of a request, never its path, which names a person. */
export function nameRoute(request: FastifyRequest): string {
  if (request.routeName !== undefined) return request.routeName;
  const { config, url = 'none' } = request.routeOptions;
  return config.path ?? url;
}

/** Every value of a header; for some headers Node keeps only the first. */
export function readHeaders(raw: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  const { rawHeaders } = raw;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index];
    if (given?.length !== name.length || given.toLowerCase() !== name) continue;
    values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}
