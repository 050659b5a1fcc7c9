import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  type EntryParts,
  type ReportParts,
  receive,
  writeBooking,
  writeReport,
} from '../../../testing/setups/account-report.ts';
import { writeStatus } from '../../../testing/setups/bank-messages.ts';
import {
  makeConfig,
  makeInstruction,
  noSignal,
  openTestRail,
  type TestRail,
  testPayers,
} from '../../../testing/setups/iso20022.ts';
import type { Instruction, RailAnswer, RailObservation } from '../contract/contract.ts';
import { findStatusOutcome, getReason, isDuplicateCode } from './codes.ts';

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

/** Leaves entries on an account, and says what was observed. */
async function book(entries: string, parts: ReportParts = {}): Promise<RailObservation[]> {
  return (await receive(it, writeReport(entries, parts))).observations;
}

function entry(parts: Partial<EntryParts> = {}): string {
  return writeBooking({ reference: payment.reference, ...parts });
}

const returned = '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>';

async function query(): Promise<RailAnswer> {
  return it.rail.query(payment, context);
}

describe('booked entries', () => {
  test('a debit makes its payment paid, in every version of the message', async () => {
    const [first] = await book(entry({ status: 'BOOK' }), { name: 'camt.054.001.02' });
    assert.equal(first?.outcome, 'paid');
    assert.equal(first?.amountMinor, 10_000n);
    assert.equal(first?.atMs, Date.parse('2026-03-04T00:00:00Z'));
    const [second] = await book(entry(), { name: 'camt.053.001.08' });
    // The statement repeats the notification: the same fact, by the same name.
    assert.equal(second?.id, first?.id);
  });

  test('entries that are pending, on another account, or of others have no effect', async () => {
    assert.deepEqual(await book(entry({ status: '<Cd>PDNG</Cd>' })), []);
    assert.deepEqual(await book(entry(), { account: 'FR1420041010050500013M02606' }), []);
    assert.deepEqual(await book(entry({ direction: 'CRDT', reference: 'INVOICE7' })), []);
    assert.deepEqual(await book(entry({ reference: 'NOTPROVIDED' })), []);
    assert.equal((await query()).outcome, 'accepted');
  });

  test('a debit of less than the payment does not match', async () => {
    assert.deepEqual(await book(entry({ amount: '5.00' })), []);
    assert.equal((await query()).outcome, 'accepted');
    const [observation] = await book(entry());
    assert.equal(observation?.outcome, 'paid');
  });

  test('an account is the same with and without spaces', async () => {
    await it.close();
    const [debtor] = makeConfig('/none').debtors;
    const debtors = [{ ...debtor, iban: '', account: '12 345 678' }];
    // An instant payer needs a debtor with an IBAN.
    it = await openTestRail({ debtors }, testPayers.slice(0, 1));
    await it.rail.send(payment, context);
    await it.work();
    const [observation] = await book(entry(), { account: '12345678' });
    assert.equal(observation?.outcome, 'paid');
  });

  test('a debit that was not ordered opens an exception', async () => {
    assert.deepEqual(await book(entry({ reference: 'SOMEBODY' })), []);
    const [problem] = it.host.problems;
    assert.equal(problem?.kind, 'unmatched');
    assert.deepEqual([problem?.currency, problem?.amountMinor], ['EUR', 10_000n]);
  });

  test('returns add up, each once however often it is reported', async () => {
    const one = entry({ amount: '40.00', direction: 'CRDT', number: 'R1', details: returned });
    const two = entry({ amount: '25.00', direction: 'CRDT', number: 'R2', details: returned });
    await book(entry());
    await book(one);
    await book(two);
    await book(one + two, { name: 'camt.053.001.08' });
    const expected = { outcome: 'returned', reason: 'account_closed', code: 'AC04' };
    assert.deepEqual(await query(), { ...expected, amountMinor: 6_500n });
  });

  test('two equal returns without a reference are two, and no more when repeated', async () => {
    const one = entry({ amount: '10.00', direction: 'CRDT', details: returned });
    const first = await book(one + one);
    const again = await book(one + one, { name: 'camt.053.001.08' });
    assert.equal(new Set(first.map(({ id }) => id)).size, 2);
    assert.deepEqual(
      again.map(({ id }) => id),
      first.map(({ id }) => id),
    );
    assert.equal((await query()).outcome, 'returned');
  });

  test('charges deducted from a return are charges, and the return is whole', async () => {
    const charges = `<Chrgs><Rcrd><Amt Ccy="EUR">2.50</Amt><CdtDbtInd>DBIT</CdtDbtInd>
      <ChrgInclInd>true</ChrgInclInd></Rcrd></Chrgs>`;
    const [observation] = await book(
      entry({ amount: '97.50', direction: 'CRDT', details: charges + returned }),
    );
    assert.equal(observation?.amountMinor, 10_000n);
    assert.deepEqual(
      observation?.charges?.map(({ currency, amountMinor }) => `${amountMinor} ${currency}`),
      ['250 EUR'],
    );
  });

  test('charges that only a later message shows count, once', async () => {
    const record = (amount: string) => `<Rcrd><Amt Ccy="EUR">${amount}</Amt>
      <CdtDbtInd>DBIT</CdtDbtInd><ChrgInclInd>true</ChrgInclInd></Rcrd>`;
    const ordered = '<AmtDtls><InstdAmt><Amt Ccy="EUR">100.00</Amt></InstdAmt></AmtDtls>';
    const write = (...amounts: string[]) =>
      entry({
        amount: '105.00',
        details: `${ordered}<Chrgs>${amounts.map(record).join('')}</Chrgs>`,
      });
    const found = await book(entry({ amount: '105.00', details: ordered }));
    found.push(...(await book(write('2.00', '3.00'), { name: 'camt.053.001.08' })));
    found.push(...(await book(write('3.00', '2.00'), { name: 'camt.053.001.08' })));
    assert.ok(found.every(({ outcome }) => outcome === 'paid'));
    // An observation is applied once, and so is a charge.
    const charges = new Map<string, bigint>();
    const seen = new Set<string>();
    for (const { id, charges: shown = [] } of found) {
      if (!seen.has(id))
        for (const { id: name, amountMinor } of shown) charges.set(name, amountMinor);
      seen.add(id);
    }
    assert.deepEqual([...charges.values()].toSorted(), [200n, 300n]);
  });

  test('1 is a form of true', async () => {
    const charges = `<Chrgs><Rcrd><Amt Ccy="EUR">2.50</Amt><CdtDbtInd>DBIT</CdtDbtInd>
      <ChrgInclInd>1</ChrgInclInd></Rcrd></Chrgs>`;
    const [observation] = await book(
      entry({ amount: '97.50', direction: 'CRDT', details: charges + returned }),
    );
    assert.equal(observation?.amountMinor, 10_000n);
    const undone = entry().replace('</CdtDbtInd>', '</CdtDbtInd><RvslInd>1</RvslInd>');
    assert.deepEqual(await book(undone), [], 'a credit that was undone is no payment');
  });

  test('a charge that is booked separately is not taken for the payment', async () => {
    const kind = `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>CHRG</SubFmlyCd></Fmly>
      </Domn></BkTxCd>`;
    const [observation] = await book(entry({ amount: '5.00', number: 'C1', entry: kind }));
    assert.equal(observation?.outcome, 'accepted');
    assert.equal(observation?.charges?.[0]?.amountMinor, 500n);
    assert.equal((await query()).outcome, 'accepted');
  });

  test('a charge after the end of its payment does not say that it was paid or accepted again', async () => {
    const kind = `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>CHRG</SubFmlyCd></Fmly>
      </Domn></BkTxCd>`;
    await book(entry());
    await book(entry({ direction: 'CRDT', number: 'R1', details: returned }));
    const [afterReturn] = await book(entry({ amount: '5.00', number: 'C1', entry: kind }));
    assert.equal(afterReturn?.outcome, 'accepted');
    assert.equal(afterReturn?.charges?.[0]?.amountMinor, 500n);
    payment = makeInstruction({ amountMinor: 10_000n });
    await it.rail.send(payment, context);
    await it.work();
    const record = await it.host.store.get('payments', payment.reference);
    assert.ok(record !== undefined);
    const { messageId = '' } = record.value as { messageId?: string };
    const { reference } = payment;
    await receive(it, writeStatus(messageId, { reference, status: 'RJCT', code: 'AC04' }));
    const [afterRefusal] = await book(entry({ amount: '6.00', number: 'C2', entry: kind }));
    assert.equal(afterRefusal?.outcome, 'rejected');
    assert.equal(afterRefusal?.charges?.[0]?.amountMinor, 600n);
    assert.equal((await query()).outcome, 'rejected');
  });

  test('a debit in the currency of the account has the amount in that of the payment, too', async () => {
    payment = makeInstruction({
      payerKey: 'world',
      countryCode: 'USA',
      currency: 'USD',
      amountMinor: 11_000n,
      attributes: { BankAccountNumber: '000123456789', BankRoutingNumber: '021000021' },
    });
    await it.rail.send(payment, context);
    await it.work();
    const details = `<AmtDtls><InstdAmt><Amt Ccy="USD">110.00</Amt></InstdAmt></AmtDtls>`;
    const [observation] = await book(entry({ amount: '101.85', details }));
    assert.equal(observation?.amountMinor, 11_000n);
  });

  test('late and reordered reports change no final state', async () => {
    await book(entry({ amount: '100.00', direction: 'CRDT', number: 'R1', details: returned }));
    await book(entry());
    assert.equal((await query()).outcome, 'returned');
  });
});

test('bank codes map to reasons', () => {
  assert.equal(getReason('AC01'), 'account_not_found');
  assert.equal(getReason('AC04'), 'account_closed');
  assert.equal(getReason('AC06'), 'account_blocked');
  assert.equal(getReason('AM04'), 'no_funds');
  assert.equal(getReason('BE05'), 'payer_refused');
  for (const code of ['FR01', 'RR04', 'RR05']) assert.equal(getReason(code), 'compliance', code);
  assert.equal(getReason('MS03'), 'other');
  assert.equal(getReason('NARR'), 'other');
  assert.equal(getReason('FOCR'), 'recalled');
  assert.equal(getReason('constructor'), 'other');
  assert.equal(findStatusOutcome('PART'), undefined);
  assert.equal(findStatusOutcome('toString'), undefined);
  assert.equal(isDuplicateCode('DU01'), true);
});

test('the closing balance of the newest statement is what is left to pay from', async () => {
  const balance = (code: string, amount: string, day: string): string =>
    `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">${amount}</Amt>
    <CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>${day}</Dt></Dt></Bal>`;
  const statement = { name: 'camt.053.001.08' };
  assert.deepEqual(await it.rail.readFunds?.(context), []);
  const booked = `${balance('OPBD', '900.00', '2026-03-04')}${balance('CLBD', '800.50', '2026-03-04')}`;
  await book(`${booked}${entry()}`, statement);
  const asOfMs = Date.parse('2026-03-05T00:00:00Z');
  assert.deepEqual(await it.rail.readFunds?.(context), [
    { currency: 'EUR', amount: '800.5', asOfMs },
  ]);
  // An older one that comes late, and one of an account that is not ours.
  await book(balance('CLBD', '1.00', '2026-03-03'), statement);
  const other = { ...statement, account: 'FR1420041010050500013M02606' };
  await book(balance('CLBD', '2.00', '2026-03-06'), other);
  assert.equal((await it.rail.readFunds?.(context))?.[0]?.amount, '800.5');
  await book(balance('CLBD', '12.00', '2026-03-06').replace('CRDT', 'DBIT'), statement);
  assert.equal((await it.rail.readFunds?.(context))?.[0]?.amount, '-12');
});
