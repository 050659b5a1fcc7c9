import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A receiver of traces by OTLP/HTTP, which decodes the protobuf of `ExportTraceServiceRequest`
 * (opentelemetry-proto 1.7, trace/v1/trace.proto) as any collector would.
 */

export type ReceivedSpan = {
  readonly traceId: string;
  readonly spanId: string;
  /** "" for the first one of a trace in this service without a caller's. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: number;
  readonly durationMs: number;
  readonly attributes: Readonly<Record<string, string>>;
  /** Trace and span, with a hyphen between them. */
  readonly links: readonly string[];
  readonly hasFailed: boolean;
  readonly service: string;
};

export type OtlpReceiver = {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Of the last request. */
  readonly headers: () => IncomingHttpHeaders;
  /** All bytes that came, to search for what must not be in them. */
  readonly bytes: () => Buffer;
  readonly requests: () => number;
  close(): Promise<void>;
};

export async function startOtlpReceiver(status = 200): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  let headers: IncomingHttpHeaders = {};
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      bodies.push(body);
      headers = request.headers;
      if (request.url === '/v1/traces' && status === 200) spans.push(...decodeRequest(body));
      response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    headers: () => headers,
    bytes: () => Buffer.concat(bodies),
    requests: () => bodies.length,
    close: () => closeServer(server),
  };
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

type Field = { readonly number: number; readonly bytes: Buffer; readonly value: bigint };

/** The fields of a protobuf message: wire types 0, 1, 2 and 5. */
function readFields(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const readVarint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at];
      if (byte === undefined) throw new Error('the message ends within a number');
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (count: number): Buffer => {
    if (at + count > message.length) throw new Error('the message ends within a field');
    at += count;
    return message.subarray(at - count, at);
  };
  while (at < message.length) {
    const tag = Number(readVarint());
    const number = tag >> 3;
    const type = tag & 7;
    if (type === 0) fields.push({ number, bytes: Buffer.alloc(0), value: readVarint() });
    else if (type === 1) {
      const bytes = take(8);
      fields.push({ number, bytes, value: bytes.readBigUInt64LE() });
    } else if (type === 2) fields.push({ number, bytes: take(Number(readVarint())), value: 0n });
    else if (type === 5) fields.push({ number, bytes: take(4), value: 0n });
    else throw new Error(`wire type ${type}`);
  }
  return fields;
}

const list = (fields: readonly Field[], number: number): Buffer[] =>
  fields.filter((field) => field.number === number).map(({ bytes }) => bytes);
const first = (fields: readonly Field[], number: number): Field =>
  fields.find((field) => field.number === number) ?? { number, bytes: Buffer.alloc(0), value: 0n };

function readAttributes(pairs: readonly Buffer[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const fields = readFields(pair);
      const [value] = readFields(first(fields, 2).bytes);
      const isText = value?.number === 1;
      return [first(fields, 1).bytes.toString(), String(isText ? value.bytes : value?.value)];
    }),
  );
}

function decodeRequest(body: Buffer): ReceivedSpan[] {
  return list(readFields(body), 1).flatMap((resourceSpans) => {
    const fields = readFields(resourceSpans);
    const resource = readAttributes(list(readFields(first(fields, 1).bytes), 1));
    const service = resource['service.name'] ?? '';
    return list(fields, 2).flatMap((scopeSpans) =>
      list(readFields(scopeSpans), 2).map((span) => decodeSpan(span, service)),
    );
  });
}

function decodeSpan(span: Buffer, service: string): ReceivedSpan {
  const fields = readFields(span);
  const hex = (from: readonly Field[], number: number): string =>
    first(from, number).bytes.toString('hex');
  return {
    traceId: hex(fields, 1),
    spanId: hex(fields, 2),
    parentId: hex(fields, 4),
    name: first(fields, 5).bytes.toString(),
    kind: Number(first(fields, 6).value),
    durationMs: Number(first(fields, 8).value - first(fields, 7).value) / 1e6,
    attributes: readAttributes(list(fields, 9)),
    links: list(fields, 13).map((link) => {
      const linked = readFields(link);
      return `${hex(linked, 1)}-${hex(linked, 2)}`;
    }),
    hasFailed: first(readFields(first(fields, 15).bytes), 3).value === 2n,
    service,
  };
}
