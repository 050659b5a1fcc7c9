import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Measured, writeReport } from './report.ts';

function measured(key: string, round: number, perSecond: number): Measured {
  return {
    key,
    name: key,
    load: { inFlight: 64, workload: 'hot' },
    round,
    measure: { count: perSecond * 2, seconds: 2, p50Ms: 1, p99Ms: 2 },
  };
}

const run = { found: [], rounds: 3, seconds: 2, server: 'PostgreSQL' };

test('a ratio is the median of the ratios of the rounds, whatever the rounds were like', () => {
  const text = writeReport({
    ...run,
    measured: [
      measured('tpcb', 0, 1000),
      measured('http-hot-64', 0, 3100),
      measured('tpcb', 1, 100),
      measured('http-hot-64', 1, 400),
      measured('tpcb', 2, 1000),
      measured('http-hot-64', 2, 2000),
    ],
  });
  assert.match(text, /commits over HTTP, 64 connections \| 3\.10 \(2\.00 to 4\.00\) .* yes \|/);
});

test('a figure that is not reached is called so', () => {
  const text = writeReport({
    ...run,
    measured: [measured('tpcb', 0, 1000), measured('steps-256', 0, 990)],
  });
  assert.match(text, /three durable steps, awaited \| 0\.99 .* \| 1 \| no \|/);
});

test('a race that went wrong stands out', () => {
  const race = { race: 'overdraft', found: '3 too many', isSafe: false } as const;
  const text = writeReport({ ...run, measured: [], found: [{ name: 'some peer', race }] });
  assert.match(text, /\| some peer \| overdraft \| 3 too many \| \*\*no\*\* \|/);
});

test('processor time is reported for each command, beside the references of the same run', () => {
  const cost = (key: string, serviceUs: number | undefined, databaseUs: number): Measured => {
    const one = measured(key, 0, 1000);
    return { ...one, measure: { ...one.measure, processor: { serviceUs, databaseUs } } };
  };
  const text = writeReport({
    ...run,
    measured: [
      cost('tpcb', undefined, 400_000),
      cost('bare', 20_000, 0),
      cost('http-hot-64', 80_000, 100_000),
    ],
  });
  assert.match(text, /\| http-hot-64 \| one balance \| 64 \| 40\.0 \| 4\.00 \| 50\.0 \| 0\.25 \|/);
});
