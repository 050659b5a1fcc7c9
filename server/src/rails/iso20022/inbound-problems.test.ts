import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  type EntryParts,
  type Received,
  type ReportParts,
  receive,
  writeBareEntry,
  writeBooking,
  writeReport,
} from '../../../testing/setups/account-report.ts';
import { writeGroupStatus, writeStatus } from '../../../testing/setups/bank-messages.ts';
import {
  makeInstruction,
  noSignal,
  openTestRail,
  type TestRail,
} from '../../../testing/setups/iso20022.ts';
import type { Instruction, RailAnswer } from '../contract/contract.ts';

let it: TestRail;
let payment: Instruction;
const context = { signal: noSignal };

beforeEach(async () => {
  it = await openTestRail();
  payment = makeInstruction({ amountMinor: 10_000n });
  await it.rail.send(payment, context);
  await it.work();
});
afterEach(() => it.close());

const rtrInf = '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>';
const reversed = '<RvslInd>true</RvslInd>';

async function book(entries: string, parts: ReportParts = {}): Promise<Received> {
  return receive(it, writeReport(entries, parts));
}

function entry(parts: Partial<EntryParts> = {}): string {
  return writeBooking({ reference: payment.reference, ...parts });
}

async function query(instruction = payment): Promise<RailAnswer> {
  return it.rail.query(instruction, context);
}

function describeProblems({ problems }: Received): string[] {
  return problems.map(({ kind, currency, amountMinor }) =>
    amountMinor === undefined ? kind : `${kind} ${amountMinor} ${currency}`,
  );
}

function assertOnlyProblem(received: Received, expected: string, message?: string): void {
  assert.deepEqual(describeProblems(received), [expected], message);
  assert.deepEqual(received.observations, [], message);
}

async function findMessageId(reference = payment.reference): Promise<string> {
  const record = await it.host.store.get('payments', reference);
  const value: unknown = record?.value;
  assert.ok(typeof value === 'object' && value !== null && 'messageId' in value);
  return String(value.messageId);
}

describe('a return that matches no payment is an exception with its amount', () => {
  const credit = { amount: '40.00', direction: 'CRDT' as const };

  test('without an end-to-end id, or with one that is none', async () => {
    assertOnlyProblem(
      await book(entry({ ...credit, reference: '', details: rtrInf })),
      'unmatched 4000 EUR',
    );
    assertOnlyProblem(
      await book(entry({ ...credit, reference: 'NOTPROVIDED', details: rtrInf })),
      'unmatched 4000 EUR',
    );
    assertOnlyProblem(
      await book(entry({ ...credit, reference: 'INVOICE7', entry: reversed })),
      'unmatched 4000 EUR',
    );
  });

  test('without details, and as an empty return information', async () => {
    assertOnlyProblem(
      await book(writeBareEntry({ ...credit, entry: reversed })),
      'unmatched 4000 EUR',
    );
    const empty = entry({ ...credit, reference: '', details: '<RtrInf/>' });
    assertOnlyProblem(await book(empty), 'unmatched 4000 EUR');
  });

  test('reported by its bank transaction code alone', async () => {
    const kind = `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>RRTN</SubFmlyCd></Fmly>
      </Domn></BkTxCd>`;
    assertOnlyProblem(
      await book(entry({ ...credit, reference: '', entry: kind })),
      'unmatched 4000 EUR',
    );
  });

  test('in another currency without an amount in that of the payment', async () => {
    const foreign = entry({
      amount: '130.00',
      currency: 'USD',
      direction: 'CRDT',
      details: rtrInf,
    });
    assertOnlyProblem(await book(foreign), 'unmatched 13000 USD');
    assert.equal((await query()).outcome, 'accepted');
    const instructed = '<AmtDtls><InstdAmt><Amt Ccy="EUR">100.00</Amt></InstdAmt></AmtDtls>';
    const named = entry({
      amount: '130.00',
      currency: 'USD',
      direction: 'CRDT',
      details: `${instructed}${rtrInf}`,
    });
    const { observations } = await book(named);
    assert.equal(observations[0]?.amountMinor, 10_000n);
  });

  test('and opens one exception, however often it is reported', async () => {
    const lost = entry({ ...credit, reference: '', details: rtrInf });
    const first = await book(lost + lost);
    const again = await book(lost + lost, { name: 'camt.053.001.08' });
    assert.equal(new Set(first.problems.map(({ id }) => id)).size, 2);
    assert.deepEqual(
      again.problems.map(({ id }) => id),
      first.problems.map(({ id }) => id),
    );
    assert.equal(await it.host.countUnresolvedInbound(), 2);
  });

  test('holds no personal data in its detail', async () => {
    const rent = entry({ ...credit, reference: 'Rent of Jane Roe', details: rtrInf });
    const { problems } = await book(rent);
    assert.ok(!problems.some(({ detail }) => /Jane|Roe/.test(detail)));
  });

  test('other incoming money is ignored', async () => {
    const received = await book(entry({ ...credit, reference: 'INVOICE7' }));
    assert.deepEqual(received, { observations: [], problems: [] });
  });
});

describe("a return is found by the bank's references and by ours of the batch", () => {
  test("by the bank's reference of our debit", async () => {
    await book(entry({ number: 'BANK-000123' }));
    const { observations, problems } = await book(
      entry({
        reference: 'NOTPROVIDED',
        direction: 'CRDT',
        number: 'BANK-000123',
        details: rtrInf,
      }),
    );
    assert.deepEqual(problems, []);
    assert.deepEqual(
      observations.map(({ reference, amountMinor }) => ({ reference, amountMinor })),
      [{ reference: payment.reference, amountMinor: 10_000n }],
    );
    assert.equal((await query()).outcome, 'returned');
  });

  test('without details too, and never where the amount cannot be its own', async () => {
    await book(entry({ number: 'BANK-000123' }));
    const credit = { direction: 'CRDT' as const, number: 'BANK-000123', entry: reversed };
    assertOnlyProblem(
      await book(writeBareEntry({ ...credit, amount: '100.01' })),
      'unmatched 10001 EUR',
    );
    const { observations } = await book(writeBareEntry(credit));
    assert.equal(observations[0]?.outcome, 'returned');
  });

  test('a bank reference of two payments identifies neither', async () => {
    const other = makeInstruction({ amountMinor: 10_000n });
    await it.rail.send(other, context);
    await it.work();
    await book(entry({ number: 'BANK-000123' }));
    await book(entry({ number: 'BANK-000123', reference: other.reference }));
    assertOnlyProblem(
      await book(
        entry({ reference: '', direction: 'CRDT', number: 'BANK-000123', details: rtrInf }),
      ),
      'unmatched 10000 EUR',
    );
  });

  test('by the id of a whole batch, in either place: every payment comes back', async () => {
    for (const place of ['batch', 'references'] as const) {
      const batch = [1, 2, 3].map(() => makeInstruction({ amountMinor: 5_000n }));
      for (const one of batch) await it.rail.send(one, context);
      await it.work();
      const id = `${await findMessageId(batch[0]?.reference)}-1`;
      const details =
        place === 'batch'
          ? `<Btch><PmtInfId>${id}</PmtInfId><NbOfTxs>3</NbOfTxs></Btch>`
          : `<TxDtls><Refs><PmtInfId>${id}</PmtInfId></Refs></TxDtls>`;
      const whole = { amount: '150.00', entry: `<NtryDtls>${details}</NtryDtls>` };
      const debited = await book(writeBareEntry(whole));
      assert.equal(debited.observations.length, 3, place);
      const credit = { ...whole, direction: 'CRDT' as const, entry: `${reversed}${whole.entry}` };
      assertOnlyProblem(
        await book(writeBareEntry({ ...credit, amount: '149.99' })),
        'unmatched 14999 EUR',
        'another sum is not all of them',
      );
      const back = await book(writeBareEntry(credit));
      assert.deepEqual(back.problems, []);
      assert.deepEqual(
        back.observations.map(({ outcome, amountMinor }) => `${outcome} ${amountMinor}`),
        ['returned 5000', 'returned 5000', 'returned 5000'],
      );
      for (const one of batch) assert.equal((await query(one)).outcome, 'returned');
    }
  });

  test('payments that are listed without amounts are matched by their sum', async () => {
    const batch = [1, 2].map(() => makeInstruction({ amountMinor: 5_000n }));
    for (const one of batch) await it.rail.send(one, context);
    await it.work();
    const listed = batch.map(
      ({ reference }) => `<TxDtls><Refs><EndToEndId>${reference}</EndToEndId></Refs></TxDtls>`,
    );
    const details = `<NtryDtls>${listed.join('')}</NtryDtls>`;
    assertOnlyProblem(
      await book(writeBareEntry({ amount: '90.00', entry: details })),
      'unmatched 9000 EUR',
    );
    await book(writeBareEntry({ amount: '100.00', entry: details }));
    for (const one of batch) assert.equal((await query(one)).outcome, 'paid');
  });
});

describe('entries that are not understood', () => {
  test('a reversed return: the money left again', async () => {
    await book(entry());
    await book(entry({ direction: 'CRDT', number: 'R1', details: rtrInf }));
    assertOnlyProblem(
      await book(entry({ entry: reversed, number: 'R2' })),
      'not_understood 10000 EUR',
    );
    assertOnlyProblem(
      await book(entry({ entry: reversed, reference: '' })),
      'unmatched 10000 EUR',
      'of an unknown payment',
    );
  });

  test('a debit of more than the payment does not match, regardless of its code', async () => {
    const kind = '<BkTxCd><Prtry><Cd>NCHG+808</Cd></Prtry></BkTxCd>';
    assertOnlyProblem(await book(entry({ amount: '250.00', entry: kind })), 'unmatched 25000 EUR');
    assertOnlyProblem(await book(entry({ amount: '99.99' })), 'unmatched 9999 EUR');
    assert.equal((await query()).outcome, 'accepted');
    const charges = `<Chrgs><Rcrd><Amt Ccy="EUR">5.00</Amt><CdtDbtInd>DBIT</CdtDbtInd>
      <ChrgInclInd>true</ChrgInclInd></Rcrd></Chrgs>`;
    await book(entry({ amount: '105.00', details: charges }));
    assert.equal((await query()).outcome, 'paid');
  });

  test('a second debit of one payment', async () => {
    await book(entry({ number: 'BANK-000001' }));
    assertOnlyProblem(await book(entry({ number: 'BANK-000002' })), 'not_understood 10000 EUR');
  });

  test('a refunded charge', async () => {
    const kind = `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>CHRG</SubFmlyCd></Fmly>
      </Domn></BkTxCd>`;
    const received = await book(entry({ amount: '2.00', direction: 'CRDT', entry: kind }));
    assertOnlyProblem(received, 'not_understood 200 EUR');
  });

  test('an unknown status, and an entry of another form, beside one that is applied', async () => {
    const strange = entry({ status: '<Cd>WHAT</Cd>', amount: '7.00' });
    const broken = entry({ amount: '8.00' }).replace('<CdtDbtInd>DBIT', '<CdtDbtInd>BOTH');
    const received = await book(strange + broken + entry());
    assert.deepEqual(describeProblems(received), [
      'not_understood 700 EUR',
      'not_understood 800 EUR',
    ]);
    assert.equal((await query()).outcome, 'paid');
  });

  test('one of our payments on an account that is not configured', async () => {
    const account = 'FR1420041010050500013M02606';
    assertOnlyProblem(await book(entry(), { account }), 'unmatched 10000 EUR');
    assert.deepEqual(await book(entry({ reference: 'SOMEBODY' }), { account }), {
      observations: [],
      problems: [],
    });
  });
});

describe('status reports', () => {
  test('identify a payment by its instruction id alone, or as the only one of its batch', async () => {
    const file = await findMessageId();
    const byEndToEndId = writeStatus(file, {
      reference: payment.reference,
      status: 'RJCT',
      code: 'AC04',
    });
    const { observations } = await receive(
      it,
      byEndToEndId.replaceAll('OrgnlEndToEndId', 'OrgnlInstrId'),
    );
    assert.equal(observations[0]?.reference, payment.reference);
    assert.equal((await query()).outcome, 'rejected');
    const other = makeInstruction();
    await it.rail.send(other, context);
    await it.work();
    const nameless = writeStatus(await findMessageId(other.reference), {
      reference: '',
      status: 'RJCT',
      code: 'AC04',
    }).replace(/<n:OrgnlEndToEndId>.*<.n:OrgnlEndToEndId>/, '');
    await receive(it, nameless);
    assert.equal((await query(other)).outcome, 'rejected');
  });

  test('with a payment that cannot be identified are exceptions', async () => {
    const other = makeInstruction({ amountMinor: 5_000n });
    const third = makeInstruction({ amountMinor: 5_000n });
    await it.rail.send(other, context);
    await it.rail.send(third, context);
    await it.work();
    const file = await findMessageId(other.reference);
    const status = { reference: '', status: 'RJCT', code: 'AC04', amount: '50.00' };
    const text = writeStatus(file, status).replace(/<n:OrgnlEndToEndId><.n:OrgnlEndToEndId>/, '');
    assertOnlyProblem(await receive(it, text), 'unmatched 5000 EUR');
  });

  test('about a payout that this rail does not know are observations: the service may', async () => {
    const reference = '0199aaaabbbb7ccc8dddeeeeffff0000';
    const status = { reference, status: 'RJCT', code: 'AC04' };
    const { observations } = await receive(it, writeStatus('X', status));
    assert.deepEqual(
      observations.map((one) => `${one.reference} ${one.outcome}`),
      [`${reference} rejected`],
    );
  });

  test('with an unknown status of the file, the batch or the payment are exceptions', async () => {
    const file = await findMessageId();
    assertOnlyProblem(await receive(it, writeGroupStatus(file, 'XXXX', 'NARR')), 'not_understood');
    const { reference } = payment;
    assertOnlyProblem(
      await receive(it, writeStatus(file, { reference, status: 'YYYY', code: '' })),
      'not_understood 10000 EUR',
    );
    const batch = writeStatus(file, { reference, status: '', code: '' })
      .replaceAll(/(<\/?)n:/g, '$1')
      .replace('xmlns:n=', 'xmlns=')
      .replace(/<TxInfAndSts>.*<.TxInfAndSts>/s, '<PmtInfSts>ZZZZ</PmtInfSts>');
    assertOnlyProblem(await receive(it, batch), 'not_understood');
    const silent = writeGroupStatus(file, 'RJCT', 'NARR').replace('<GrpSts>RJCT</GrpSts>', '');
    assertOnlyProblem(await receive(it, silent), 'not_understood');
    assert.equal((await query()).outcome, 'accepted');
  });

  test('of a verification of payee leave the payment open, and are no exceptions', async () => {
    const file = await findMessageId();
    const { reference } = payment;
    for (const status of ['RVNC', 'RCVC', 'RVCM']) {
      const { problems } = await receive(it, writeGroupStatus(file, status, ''));
      assert.deepEqual(problems, [], status);
    }
    for (const status of ['ACFW', 'RVMC', 'RVNM', 'RVNA']) {
      const found = await receive(it, writeStatus(file, { reference, status, code: '' }));
      assert.deepEqual(describeProblems(found), [], status);
      assert.deepEqual(
        found.observations.map(({ outcome, code }) => `${outcome} ${code}`),
        [`accepted ${status}`],
      );
    }
    assert.equal((await query()).outcome, 'accepted');
  });

  test('about another file, or with another amount, are exceptions', async () => {
    const { reference } = payment;
    const status = { reference, status: 'RJCT', code: 'AC04' };
    const other = await receive(it, writeStatus('T1-0000099-0123456789', status));
    assert.deepEqual(describeProblems(other), ['unmatched', 'unmatched 10000 EUR']);
    const amount = { ...status, amount: '999.00' };
    assertOnlyProblem(
      await receive(it, writeStatus(await findMessageId(), amount)),
      'unmatched 10000 EUR',
    );
    assertOnlyProblem(
      await receive(it, writeGroupStatus('NOTPROVIDED', 'RJCT', 'FF01')),
      'unmatched',
    );
    assert.equal((await query()).outcome, 'accepted');
  });
});
