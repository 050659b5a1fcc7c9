import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { describeLocation, readSource } from './read-source.ts';

async function serve(answer: RequestListener): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function readFault(location: string, bytesMax = 1_000): Promise<string> {
  const reading = await readSource(location, { fetch, bytesMax, timeoutMs: 5_000 });
  assert.ok(!reading.ok, 'it was read');
  return reading.fault;
}

test('a file is read as text, up to the limit', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'outlay-rates-'));
  try {
    const path = join(folder, 'rates.xml');
    await writeFile(path, 'é'.repeat(500));
    const reading = await readSource(path, { fetch, bytesMax: 1_000 });
    assert.deepEqual(reading, { ok: true, text: 'é'.repeat(500) });
    assert.match(await readFault(path, 999), /larger than 999 bytes/);
    assert.match(await readFault(folder), /not a file|EISDIR/);
    assert.match(await readFault(join(folder, 'absent')), /ENOENT/);
    await writeFile(path, Buffer.from([0x3c, 0xff, 0xfe]));
    assert.match(await readFault(path), /could not be read/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('an address is read through a redirect', async () => {
  await using server = await serve((request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: '/rates' }).end();
    else response.end('rates');
  });
  const reading = await readSource(`${server.url}/moved`, { fetch });
  assert.deepEqual(reading, { ok: true, text: 'rates' });
});

test('a body without a declared length is limited', async () => {
  await using server = await serve((_request, response) => {
    response.on('error', () => undefined);
    const write = (): void => {
      while (!response.destroyed && response.write('x'.repeat(10_000)));
      if (!response.destroyed) response.once('drain', write);
    };
    write();
  });
  assert.match(await readFault(server.url), /larger than 1000 bytes/);
});

test('errors, endless redirects and redirects to other hosts are faults', async () => {
  const targets: Record<string, string> = {
    '/file': 'file:///etc/hostname',
    '/data': 'data:text/plain,rates',
    '/loop': '/loop',
  };
  await using server = await serve((request, response) => {
    const location = targets[request.url ?? ''];
    if (location === undefined) response.writeHead(503).end('later');
    else response.writeHead(301, { location }).end();
  });
  assert.match(await readFault(`${server.url}/file`), /which is not https/);
  assert.match(await readFault(`${server.url}/data`), /which is not https/);
  assert.match(await readFault(`${server.url}/loop`), /more than 3 redirects/);
  assert.match(await readFault(`${server.url}/other`), /status 503/);
});

test('https must not redirect to http', async () => {
  const answer = new Response(null, {
    status: 302,
    headers: { location: 'http://other.example/' },
  });
  const reading = await readSource('https://rates.example/', { fetch: async () => answer });
  assert.ok(!reading.ok);
  assert.match(reading.fault, /which is not https/);
});

test('redirects to another host are not followed', async () => {
  let reads = 0;
  await using inside = await serve((_request, response) => {
    reads += 1;
    response.end('metadata of the machine');
  });
  await using server = await serve((_request, response) => {
    response.writeHead(302, { location: `${inside.url}/latest/meta-data` }).end();
  });
  assert.match(await readFault(server.url), /which is not https/);
  assert.equal(reads, 0);
  const asked: string[] = [];
  const redirecting = (async (url: URL) => {
    asked.push(url.host);
    return new Response(null, { status: 302, headers: { location: 'https://10.0.0.7/' } });
  }) as unknown as typeof fetch;
  const source = 'https://rates.example/';
  const refused = await readSource(source, { fetch: redirecting });
  assert.ok(!refused.ok);
  assert.match(refused.fault, /redirect to another host \(10\.0\.0\.7\)/);
  assert.deepEqual(asked, ['rates.example']);
  const list = await readSource(source, { fetch: redirecting, redirects: 'any_https' });
  assert.ok(!list.ok);
  assert.match(
    list.fault,
    /more than 3 redirects/,
    'a publisher of lists may use another https host',
  );
});

test('http is accepted on a loopback host only', async () => {
  const answering: typeof fetch = async () => new Response('rates');
  for (const host of ['localhost:1', '127.0.0.1', '127.8.8.8', '0x7f.1', '[::1]']) {
    const reading = await readSource(`http://${host}/`, { fetch: answering });
    assert.equal(reading.ok, true, host);
  }
  for (const host of ['rates.example', '10.0.0.1', '127.0.0.1.example', 'localhost.example']) {
    const reading = await readSource(`http://${host}/`, { fetch: answering });
    assert.ok(!reading.ok, host);
    assert.match(reading.fault, /must be https/);
  }
});

test('an address that does not answer in time is a fault', async () => {
  await using server = await serve(() => undefined);
  const reading = await readSource(server.url, { fetch, timeoutMs: 5 });
  assert.ok(!reading.ok);
  assert.match(reading.fault, /timeout/i);
});

test('other schemes are refused, and secrets of an address are not shown', async () => {
  assert.match(await readFault('ftp://rates.example/x'), /ftp: is not https/);
  assert.match(await readFault('file:///etc/hostname'), /file: is not https/);
  const secret = 'https://user:secret@rates.example/daily?key=secret';
  assert.equal(describeLocation(secret), 'https://rates.example/daily');
  assert.equal(describeLocation('/var/lib/rates.xml'), '/var/lib/rates.xml');
  assert.equal(describeLocation('C:\\rates.xml'), 'C:\\rates.xml');
  const failing: typeof fetch = async () => {
    throw new Error('fetch failed', { cause: new Error('no route') });
  };
  const reading = await readSource(secret, { fetch: failing });
  assert.ok(!reading.ok);
  assert.doesNotMatch(reading.fault, /secret/);
  assert.match(reading.fault, /no route/);
});
