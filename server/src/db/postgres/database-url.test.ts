import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { DatabaseUrlError, findUrlFault, parseDatabaseUrl } from './database-url.ts';

test('several hosts become one connection string each, with what they share', () => {
  const url =
    'postgresql://u:p%40ss@h1:5432,h2:5433,[::1]/db?target_session_attrs=read-write&sslmode=verify-full';
  assert.deepEqual(parseDatabaseUrl(url), {
    hosts: [
      'postgresql://u:p%40ss@h1:5432/db?sslmode=verify-full',
      'postgresql://u:p%40ss@h2:5433/db?sslmode=verify-full',
      'postgresql://u:p%40ss@[::1]/db?sslmode=verify-full',
    ],
    mustBeWritable: true,
  });
});

test('hosts and ports of the query win over those of the address', () => {
  assert.deepEqual(parseDatabaseUrl('postgres://u@x/db?host=h1,h2&port=1,2').hosts, [
    'postgres://u@h1:1/db',
    'postgres://u@h2:2/db',
  ]);
  assert.deepEqual(parseDatabaseUrl('postgres://u@/db?host=h1,h2&port=7').hosts, [
    'postgres://u@h1:7/db',
    'postgres://u@h2:7/db',
  ]);
  assert.deepEqual(parseDatabaseUrl('postgresql://u@localhost/db?host=%2Frun%2Fpg').hosts, [
    'postgresql://u@localhost/db?host=%2Frun%2Fpg',
  ]);
});

test('a port beside the folder of a socket is kept, wherever it is given', () => {
  for (const url of [
    'postgres://u@localhost:5433/db?host=/run/pg',
    'postgres://u@:5433/db?host=/run/pg',
    'postgres://u@/db?host=/run/pg&port=5433',
    'postgres://u@%2Frun%2Fpg:5433/db',
  ]) {
    const [one = ''] = parseDatabaseUrl(url).hosts;
    const { host, port } = new pg.Client({ connectionString: one });
    assert.deepEqual([host, port], ['/run/pg', 5433], url);
  }
});

test('a standby is passed over unless the URL takes any server', () => {
  assert.equal(parseDatabaseUrl('postgres://u@h/db').mustBeWritable, true);
  assert.equal(
    parseDatabaseUrl('postgres://u@h/db?target_session_attrs=any').mustBeWritable,
    false,
  );
});

test('a URL that cannot be used is refused with every fault and no part of it', () => {
  const faults = findUrlFault(
    'postgres://u:secret@h1:x,h2/db?target_session_attrs=standby&port=1,2,3',
  );
  assert.match(faults ?? '', /target_session_attrs must be one of any, read-write, primary/);
  assert.match(faults ?? '', /each host must be a name/);
  assert.match(faults ?? '', /port must hold one port for all hosts or one for each/);
  assert.doesNotMatch(faults ?? '', /secret/);
  for (const url of ['mysql://u@h/db', 'postgres://u:a/b@h/db', 'postgres://u@h1,/db', 'nothing']) {
    assert.throws(() => parseDatabaseUrl(url), DatabaseUrlError, url);
  }
});
