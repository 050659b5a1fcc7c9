import type { Server } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';
import { Counter, Gauge, type Registry } from 'prom-client';

/**
 * Limits on open connections, in total and of one address. Beyond the total Node closes a new
 * connection before it reads from it; beyond that of its address this module does.
 */

export type ConnectionLimits = {
  total: number;
  /** Of one IPv4 address, or one IPv6 network of 64 bits, which one subscriber has. */
  perAddress: number;
  /** Reverse proxies, behind which many clients share an address: only the total limits them. */
  exempt: readonly string[];
};

export type Connections = { read(): { open: number; refused: number } };

export function limitConnections(
  server: Server,
  { total, perAddress, exempt }: ConnectionLimits,
): Connections {
  const counts = new Map<string, number>();
  const isExempt = createAddressCheck(exempt);
  let open = 0;
  let refused = 0;
  server.maxConnections = total;
  server.on('drop', () => {
    refused += 1;
  });
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const key = nameNetwork(address);
    const count = counts.get(key) ?? 0;
    if (count >= perAddress && !isExempt(address)) {
      refused += 1;
      socket.destroy();
      return;
    }
    open += 1;
    counts.set(key, count + 1);
    socket.once('close', () => {
      open -= 1;
      const left = (counts.get(key) ?? 1) - 1;
      if (left > 0) counts.set(key, left);
      else counts.delete(key);
    });
  });
  return { read: () => ({ open, refused }) };
}

export function measureConnections(registry: Registry, connections: Connections): void {
  const registers = [registry];
  new Gauge({
    name: 'outlay_http_connections_open',
    help: 'Open connections of clients',
    registers,
    collect() {
      this.set(connections.read().open);
    },
  });
  new Counter({
    name: 'outlay_http_connections_refused_total',
    help: 'Connections closed because there were too many, in total or of one address',
    registers,
    collect() {
      this.reset();
      this.inc(connections.read().refused);
    },
  });
}

/** An IPv4 address, or the first 64 bits of an IPv6 address. */
export function nameNetwork(address: string): string {
  const unmapped = unmap(address);
  if (isIP(unmapped) !== 6) return unmapped;
  const [before = '', after] = (unmapped.split('%', 1)[0] ?? '').split('::');
  const groups = before.split(':');
  if (after !== undefined) {
    const last = after === '' ? [] : after.split(':');
    while (groups.length + last.length < 8) groups.push('0');
    groups.push(...last);
  }
  return groups
    .slice(0, 4)
    .map((group) => (group === '' ? '0' : group))
    .join(':');
}

function unmap(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

/** Whether an address is in one of these addresses and ranges. */
export function createAddressCheck(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (given) => {
    const address = unmap(given);
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
  };
}
