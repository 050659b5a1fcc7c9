import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStagingApp, type StagingApp } from '../../testing/setups/staging-app.ts';
import { findNewestSequence } from './events.ts';

let staging: StagingApp;
before(async () => {
  staging = await openStagingApp();
});
after(() => staging[Symbol.asyncDispose]());

const readersMax = 250;

test('a reader that disconnects while it waits for an event gives its place back', async () => {
  const { db, eventFeed } = staging.app.environments.staging ?? assert.fail('staging is open');
  const { account } = staging;
  const newest = await findNewestSequence(db.tenant(account), account);
  const others = Array.from({ length: readersMax - 1 }, () => eventFeed.enter(account));
  const hasPlace = (): boolean => {
    try {
      eventFeed.enter(account)();
      return true;
    } catch {
      return false;
    }
  };
  const { hostname, port, host } = new URL(staging.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET /v0.1.4/events?after=${newest}&wait=60 HTTP/1.1\r\nhost: ${host}\r\n` +
      `authorization: Bearer ${staging.apiKey}\r\n\r\n`,
  );
  while (hasPlace()) await sleep(20);
  socket.destroy();
  const goneMs = performance.now();
  while (!hasPlace() && performance.now() - goneMs < 30_000) await sleep(50);
  assert.ok(hasPlace(), 'the reader that has gone still counts');
  for (const leave of others) leave();
});
