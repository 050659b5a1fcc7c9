import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../config.ts';
import { describeStart } from './start-screen.ts';

const started = {
  role: 'all',
  baseUrl: 'http://127.0.0.1:8080',
  stagingFile: undefined,
  consoleLink: undefined,
  healthPort: undefined,
} as const;

test('live alone is started with both settings, and the screen leads to its first operator', () => {
  assert.throws(
    () => readConfig({ OUTLAY_ENVIRONMENTS: 'live' }),
    /^Error: OUTLAY_DEFAULT_ENVIRONMENT must be one of OUTLAY_ENVIRONMENTS: set it to live$/,
  );
  const live = { OUTLAY_ENVIRONMENTS: 'live', OUTLAY_DEFAULT_ENVIRONMENT: 'live' };
  const guide = /operators create accounts and credentials: docs\/guides\/operators\.md/;
  assert.match(describeStart(readConfig(live), started), guide);
  assert.doesNotMatch(describeStart(readConfig({}), started), guide);
});

test('the screen names the port of the health thread where there is one', () => {
  const shown = (role: 'all' | 'work') =>
    describeStart(readConfig({}), { ...started, role, healthPort: 8082 });
  assert.match(shown('all'), /^  Health       http:\/\/127\.0\.0\.1:8082\/health\/ready$/m);
  assert.match(shown('work'), / http:\/\/127\.0\.0\.1:8082\/metrics$/m);
});

test('settings that contradict one another are all named at once', () => {
  const variables = {
    OUTLAY_ENVIRONMENTS: 'live',
    OUTLAY_SCREENING_OFAC_SDN: 'sdn.csv',
    OUTLAY_LIVE_SMTP_URL: 'smtp://mail.example.com:587',
  };
  assert.throws(
    () => readConfig(variables),
    (error: Error) => {
      const names = error.message.split('; ').map((fault) => fault.split(' ')[0]);
      assert.deepEqual(names, [
        'OUTLAY_DEFAULT_ENVIRONMENT',
        'OUTLAY_SCREENING_OFAC_SDN',
        'OUTLAY_LIVE_SMTP_URL',
        'OUTLAY_LIVE_SMTP_URL',
      ]);
      return true;
    },
  );
});

/** A secret of Kubernetes that is made from a file has the file's last newline. */
test('a setting and a secret of a rail are read without whitespace around them', () => {
  const variables = { OUTLAY_METRICS_TOKEN: 'token\n', OUTLAY_CELL: ' ', PARTNER_KEY: 'key\n' };
  const config = readConfig(variables);
  assert.equal(config.OUTLAY_METRICS_TOKEN, 'token');
  assert.equal(config.OUTLAY_CELL, undefined);
  assert.equal(config.readVariable('PARTNER_KEY'), 'key');
});
