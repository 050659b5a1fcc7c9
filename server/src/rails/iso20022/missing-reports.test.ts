import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { receive, writeBooking } from '../../../testing/setups/account-report.ts';
import { wrap } from '../../../testing/setups/bank-messages.ts';
import {
  debtorIban,
  makeInstruction,
  noSignal,
  openTestRail,
  type TestRail,
} from '../../../testing/setups/iso20022.ts';

/** Pages, numbers and statements that the bank does not send. */

let it: TestRail;
beforeEach(async () => {
  it = await openTestRail();
});
afterEach(() => it.close());

const dayMs = 86_400_000;

type Statement = {
  readonly id?: string;
  readonly day: string;
  readonly number?: number;
  readonly legal?: number;
  readonly opening?: string;
  readonly closing?: string;
  /** Page and whether it is the last one. */
  readonly page?: readonly [number, boolean];
  readonly copy?: 'CODU' | 'COPY' | 'DUPL';
  readonly account?: string;
  readonly entries?: string;
  /** The pages are those of the message, as before version 08. */
  readonly isOld?: boolean;
};

function writeBalance(code: string, amount: string | undefined, day: string): string {
  if (amount === undefined) return '';
  return `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">${amount}</Amt>
    <CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>${day}</Dt></Dt></Bal>`;
}

function writeOne(statement: Statement): string {
  const {
    day,
    number,
    legal,
    opening,
    closing,
    page,
    copy,
    entries = '',
    isOld = false,
  } = statement;
  const { id = `S${day}`, account = debtorIban } = statement;
  const tag = (name: string, value: string | number | undefined): string =>
    value === undefined ? '' : `<${name}>${value}</${name}>`;
  return `<Stmt><Id>${id}</Id>${isOld ? '' : writePage('StmtPgntn', page)}
    ${tag('ElctrncSeqNb', number)}${tag('LglSeqNb', legal)}<CreDtTm>${day}T20:00:00</CreDtTm>
    ${tag('CpyDplctInd', copy)}<Acct><Id><IBAN>${account}</IBAN></Id><Ccy>EUR</Ccy></Acct>
    ${writeBalance('OPBD', opening, day)}${writeBalance('CLBD', closing, day)}${entries}</Stmt>`;
}

function writePage(name: string, page: Statement['page']): string {
  if (page === undefined) return '';
  const [number, isLast] = page;
  return `<${name}><PgNb>${number}</PgNb><LastPgInd>${isLast}</LastPgInd></${name}>`;
}

let count = 0;

function writeStatements(...statements: readonly Statement[]): string {
  count += 1;
  const [first] = statements;
  const name = first?.isOld === true ? 'camt.053.001.02' : 'camt.053.001.08';
  const pages = first?.isOld === true ? writePage('MsgPgntn', first.page) : '';
  return wrap(
    name,
    `<BkToCstmrStmt><GrpHdr><MsgId>M${count}</MsgId><CreDtTm>${first?.day}T20:00:00</CreDtTm>${pages}
     </GrpHdr>${statements.map(writeOne).join('')}</BkToCstmrStmt>`,
  );
}

/** Reads each statement in a message of its own, then waits until nothing counts as late any more. */
async function listMissing(...statements: readonly Statement[]): Promise<string[]> {
  for (const statement of statements) await receive(it, writeStatements(statement));
  return await waitForMissing();
}

async function waitForMissing(days = 2): Promise<string[]> {
  it.clock.nowMs += days * dayMs;
  await it.work();
  return it.host.problems
    .filter(({ kind }) => kind === 'report_missing')
    .map(({ detail }) => detail.replace(/^[^:]*: /, '').replace(/\. Payments and returns.*$/, ''));
}

describe('sequence numbers', () => {
  test('that are missing open one exception, once they are late', async () => {
    for (const number of [6, 7, 10]) {
      const day = `2026-03-${String(number).padStart(2, '0')}`;
      await receive(it, writeStatements({ day, number, legal: number }));
    }
    assert.equal(it.host.problems.length, 0);
    assert.deepEqual(await waitForMissing(), [
      'the electronic sequence numbers 8 to 9 are missing; the legal sequence numbers 8 to 9 are missing',
    ]);
    assert.match(it.host.problems[0]?.detail ?? '', /^statement 10 of 2026-03-10, debtor main: /);
    assert.equal((await waitForMissing()).length, 1);
  });

  test('may come late and in any order', async () => {
    const march = (number: number): Statement => ({ day: `2026-03-0${number}`, number });
    assert.deepEqual(await listMissing(march(1), march(4), march(2), march(3)), []);
  });

  test('are filled by a copy, and a repeated statement is no other one', async () => {
    const first = { day: '2026-03-02', number: 2, opening: '10.00', closing: '8.00' };
    const second = { day: '2026-03-03', number: 3, opening: '8.00', closing: '5.00' };
    const third = { day: '2026-03-04', number: 4, opening: '5.00', closing: '4.00' };
    const copy = { ...second, id: 'COPY', copy: 'COPY' as const };
    assert.deepEqual(await listMissing(first, third, copy, third, { ...third, copy: 'DUPL' }), []);
  });

  test('begin anew with a year', async () => {
    const december = { day: '2026-12-31', number: 252 };
    const second = { day: '2027-01-05', number: 2 };
    assert.deepEqual(await listMissing(december, { day: '2027-01-04', number: 1 }, second), []);
    await it.close();
    it = await openTestRail();
    assert.deepEqual(await listMissing(december, second), [
      'the electronic sequence number 1 is missing',
    ]);
  });

  test('that are days, or are of another account, are none', async () => {
    const other = { account: 'DE02120300000000202051' };
    const days = [
      { day: '2026-03-04', number: 20260304 },
      { day: '2026-03-09', number: 20260309 },
    ];
    const foreign = [
      { day: '2026-03-04', number: 1, ...other },
      { day: '2026-03-05', number: 9, ...other },
    ];
    assert.deepEqual(await listMissing(...days, ...foreign), []);
  });
});

test('the entries of a repeated statement count once, also without references of the bank', async () => {
  const payment = makeInstruction();
  await it.rail.send(payment, { signal: noSignal });
  await it.work();
  const back = { reference: payment.reference, direction: 'CRDT', amount: '10.00' } as const;
  const entry = writeBooking({ ...back, details: '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>' });
  const statement = { day: '2026-03-04', number: 7, entries: entry + entry };
  const first = await receive(it, writeStatements(statement));
  assert.equal(new Set(first.observations.map(({ id }) => id)).size, 2);
  for (const copy of ['DUPL', 'CODU', undefined] as const) {
    const again = await receive(it, writeStatements({ ...statement, ...(copy && { copy }) }));
    const all = [...first.observations, ...again.observations];
    assert.equal(new Set(all.map(({ id }) => id)).size, 2);
    assert.deepEqual(again.problems, []);
  }
});

describe('balances', () => {
  test('that do not continue show the sum of the missing entries', async () => {
    const missing = await listMissing(
      { day: '2026-03-02', opening: '10.00', closing: '8.00' },
      { day: '2026-03-04', opening: '5.50', closing: '4.00' },
    );
    assert.deepEqual(missing, ['its opening balance is not the closing balance before it']);
    const [problem] = it.host.problems;
    assert.equal(problem?.currency, 'EUR');
    assert.equal(problem.amountMinor, 250n);
  });

  test('of several statements of one day continue in any order', async () => {
    const missing = await listMissing(
      { day: '2026-03-02', opening: '10.00', closing: '8.00' },
      { day: '2026-03-03', opening: '6.00', closing: '3.00', id: 'B' },
      { day: '2026-03-03', opening: '8.00', closing: '6.00', id: 'A' },
      { day: '2026-03-04', opening: '3.00', closing: '3.00' },
    );
    assert.deepEqual(missing, []);
  });
});

describe('pages', () => {
  const payment = makeInstruction();
  const page = (number: number, isLast: boolean): Statement => ({
    id: 'PAGED',
    day: '2026-03-04',
    number: 5,
    page: [number, isLast],
    ...(number === 1 ? { opening: '10.00' } : {}),
    ...(isLast ? { closing: '8.00' } : {}),
    entries: writeBooking({ reference: payment.reference, amount: '123.45', number: `N${number}` }),
  });

  for (const isOld of [false, true]) {
    const name = isOld ? 'of a message' : 'of a statement';
    test(`${name} are noticed where one is missing`, async () => {
      const pages = [page(1, false), page(3, false)].map((one) => ({ ...one, isOld }));
      assert.deepEqual(await listMissing(...pages), [
        'its page 2 is missing; its pages after page 3 are missing',
      ]);
    });

    test(`${name} are complete in any order`, async () => {
      const pages = [page(3, true), page(1, false), page(2, false)].map((one) => ({
        ...one,
        isOld,
      }));
      assert.deepEqual(await listMissing(...pages), []);
    });
  }

  test('that came are applied although others are missing', async () => {
    await it.rail.send(payment, { signal: noSignal });
    await it.work();
    const { observations } = await receive(it, writeStatements(page(2, false)));
    assert.deepEqual(
      observations.map(({ outcome }) => outcome),
      ['paid'],
    );
    assert.deepEqual(await waitForMissing(), [
      'its pages before page 2 are missing; its pages after page 2 are missing',
    ]);
  });

  test('of a message with several statements divide the last one', async () => {
    const whole = { day: '2026-03-03', id: 'WHOLE', number: 4, opening: '12.00', closing: '10.00' };
    const begun = { day: '2026-03-04', id: 'DIVIDED', number: 5, opening: '10.00' };
    const ended = { day: '2026-03-04', id: 'DIVIDED', number: 5, closing: '8.00' };
    const paged = (number: number, isLast: boolean) => ({
      page: [number, isLast] as const,
      isOld: true,
    });
    await receive(
      it,
      writeStatements({ ...whole, ...paged(1, false) }, { ...begun, ...paged(1, false) }),
    );
    assert.deepEqual(await waitForMissing(), ['its pages after page 1 are missing']);
    await receive(it, writeStatements({ ...ended, ...paged(2, true) }));
    assert.equal((await waitForMissing()).length, 1);
  });
});

describe('a statement after payments', () => {
  async function pay(): Promise<void> {
    await it.rail.send(makeInstruction(), { signal: noSignal });
    await it.work();
  }

  test('is awaited for some days, where the bank gives statements', async () => {
    await pay();
    assert.deepEqual(await waitForMissing(9), []);
    await receive(it, writeStatements({ day: '2026-03-13' }));
    assert.deepEqual(await waitForMissing(9), []);
    await pay();
    assert.deepEqual(await waitForMissing(4), []);
    const [detail = ''] = await waitForMissing(1);
    assert.match(
      detail,
      /^payments left on 2026-03-22, and no statement of that day or a later one/,
    );
    assert.equal((await waitForMissing(9)).length, 1);
  });

  test('ends the waiting when it has the day of the payments', async () => {
    await receive(it, writeStatements({ day: '2026-03-03' }));
    await pay();
    await receive(it, writeStatements({ day: '2026-03-03', id: 'earlier' }));
    await receive(it, writeStatements({ day: '2026-03-04' }));
    assert.deepEqual(await waitForMissing(9), []);
  });

  test('is missed also while the folder of the bank cannot be read', async () => {
    await receive(it, writeStatements({ day: '2026-03-03' }));
    await pay();
    await rm(`${it.folder}/inbox`, { recursive: true });
    assert.equal((await waitForMissing(9)).length, 1);
  });
});

test('what is not wanted is not checked', async () => {
  await it.close();
  it = await openTestRail({ reports: { checks: [], statementDays: 0 } });
  const missing = await listMissing(
    { day: '2026-03-02', number: 1, opening: '10.00', closing: '8.00' },
    { day: '2026-03-04', number: 9, opening: '5.50', page: [2, false] },
  );
  assert.deepEqual(missing, []);
});
