import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  type EntryParts,
  receive,
  writeBooking,
  writeReport,
} from '../../../testing/setups/account-report.ts';
import {
  makeInstruction,
  noSignal,
  openTestRail,
  type TestRail,
} from '../../../testing/setups/iso20022.ts';
import type { Instruction } from '../contract/contract.ts';

/** How often returns count that several messages report. */

let it: TestRail;
let payment: Instruction;

beforeEach(async () => {
  it = await openTestRail();
  payment = makeInstruction();
  await it.rail.send(payment, { signal: noSignal });
  await it.work();
});
afterEach(() => it.close());

type Said = Partial<EntryParts>;

function writeReturn(said: Said): string {
  const details = '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>';
  const { reference } = payment;
  return writeBooking({ reference, amount: '60.00', direction: 'CRDT', details, ...said });
}

async function notify(...returns: Said[]): Promise<void> {
  await receive(it, writeReport(returns.map(writeReturn).join('')));
}

async function state(...returns: Said[]): Promise<void> {
  await receive(it, writeReport(returns.map(writeReturn).join(''), { name: 'camt.053.001.08' }));
}

/** What came back in all, in minor units, and how many problems there are. */
async function sum(): Promise<string> {
  const answer = await it.rail.query(payment, { signal: noSignal });
  // The service keeps the first observation of an id.
  const ids = new Map(
    it.host.observations
      .filter(({ outcome }) => outcome === 'returned')
      .toReversed()
      .map(({ id, amountMinor = 0n }) => [id, amountMinor]),
  );
  const observed = [...ids.values()].reduce((total, amount) => total + amount, 0n);
  const known = answer.outcome === 'returned' ? (answer.amountMinor ?? 0n) : 0n;
  assert.equal(observed, known, 'the rail and the service count alike');
  return `${known}, ${it.host.problems.length} problems`;
}

const day = (text: string): Said => ({ day: `<Dt>${text}</Dt>` });
const time = (text: string): Said => ({ day: `<DtTm>${text}</DtTm>` });

describe('a return that notification and statement report counts once', () => {
  const cases: readonly [string, Said, Said][] = [
    ['with the bank reference in the statement only', {}, { number: 'BANK-1' }],
    ['with the bank reference in the notification only', { number: 'BANK-1' }, {}],
    ['on the day of UTC and the day of the bank', time('2026-03-04T22:30:00Z'), day('2026-03-05')],
    ['without any day', { day: '' }, day('2026-03-04')],
    [
      'on days far apart with one reference',
      { number: 'BANK-1', ...day('2026-03-04') },
      { number: 'BANK-1', ...day('2026-03-20') },
    ],
    [
      'with the charge that was taken out in one of them',
      {
        details: `<Chrgs><Rcrd><Amt Ccy="EUR">2.50</Amt><ChrgInclInd>true</ChrgInclInd></Rcrd></Chrgs>
          <RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>`,
        amount: '57.50',
      },
      { amount: '57.50' },
    ],
  ];
  for (const [name, notified, stated] of cases) {
    test(name, async () => {
      await notify(notified);
      await state(stated);
      await state(stated);
      assert.equal(await sum(), '6000, 0 problems');
    });
    test(`${name}, the statement first`, async () => {
      await state(stated);
      const first = await sum();
      await notify(notified);
      assert.equal(await sum(), first);
    });
  }

  test('with a reference of its own in each of them, where it was the whole payment', async () => {
    await notify({ amount: '123.45', number: 'BANK-1' });
    await state({ amount: '123.45', number: 'OTHER-1', ...day('2026-03-09') });
    assert.equal(await sum(), '12345, 0 problems');
  });
});

describe('two returns of one amount count twice', () => {
  test('with two references of the bank', async () => {
    await notify({ number: 'BANK-1' });
    await notify({ number: 'BANK-2' });
    await state({ number: 'BANK-2' }, { number: 'BANK-1' });
    assert.equal(await sum(), '12000, 0 problems');
  });

  test('without references in one message', async () => {
    await notify({}, {});
    await state({}, {});
    assert.equal(await sum(), '12000, 0 problems');
  });

  test('without references on two days, which the statement shifts by one', async () => {
    await notify(time('2026-03-04T22:30:00Z'));
    await notify(time('2026-03-05T22:30:00Z'));
    await state(day('2026-03-05'));
    await state(day('2026-03-06'));
    assert.equal(await sum(), '12000, 0 problems');
  });
});

describe('a report that may be one return or two is an exception, and counts once until it is closed', () => {
  test('with a different reference in each message', async () => {
    await notify({ number: 'BANK-1' });
    await state({ number: 'OTHER-1' });
    assert.equal(await sum(), '6000, 1 problems');
    assert.equal(it.host.problems[0]?.amountMinor, 6_000n);
  });

  test('on days that no time zone explains', async () => {
    await notify(day('2026-03-04'));
    await state(day('2026-03-07'));
    assert.equal(await sum(), '6000, 1 problems');
  });

  test('with one reference and two amounts', async () => {
    await notify({ number: 'BANK-1' });
    await state({ number: 'BANK-1', amount: '55.00' });
    assert.equal(await sum(), '6000, 1 problems');
  });
});

test('a message that is read again after a crash gives the same observations', async () => {
  const text = writeReport([{ number: 'BANK-1' }, {}].map(writeReturn).join(''));
  const hear = it.host.receive;
  it.host.receive = () => Promise.reject(new Error('killed'));
  await receive(it, text);
  assert.equal(it.host.observations.length, 0);
  it.host.receive = hear;
  await it.work();
  assert.equal(await sum(), '12000, 0 problems');
});
