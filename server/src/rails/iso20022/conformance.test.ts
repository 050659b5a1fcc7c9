import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testConformance } from '../../../testing/conformance/conformance.ts';
import type { ConformanceSubject } from '../../../testing/conformance/subject.ts';
import { listPaidAmounts } from '../../../testing/counterparties/iso20022/bank-books.ts';
import {
  openBankSimulator,
  setBankOptions,
} from '../../../testing/counterparties/iso20022/bank-simulator.ts';
import { makeConfig, makeIban, testPayers } from '../../../testing/setups/iso20022.ts';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import type { Config } from './config.ts';
import { railModule } from './rail.ts';

/** The amount tells the bank what to do, as it is known before the reference is. */
const amounts = { paid: 10_000n, rejected: 10_100n, returned: 10_200n };

/** Through a bank whose status of a file comes so long after the file. */
const subject = (payerKey: string, statusAfterMs: number): ConformanceSubject<Config> => ({
  module: railModule,
  clock: 'steered',
  unsupported: {
    connection: 'rail and bank meet in folders',
    http: 'rail and bank meet in folders',
    callbacks: 'a bank tells in files',
  },
  openCounterparty: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'outlay-iso20022-'));
    const places = { folder, outbox: join(folder, 'outbox'), inbox: join(folder, 'answers') };
    await setBankOptions(folder, {
      rules: [
        { match: { amount: '101.00' }, decision: 'reject' },
        { match: { amount: '102.00' }, decision: 'return', reason: 'AC06' },
      ],
      statusAfterMs,
      settleAfterMs: 60_000,
      returnAfterMs: 120_000,
      charge: '0.25',
      writesStatements: true,
    });
    const bank = await openBankSimulator(places);
    const config = makeConfig(folder);
    // The postman needs the folder before the rail makes it.
    await mkdir(join(folder, 'inbox'));
    return {
      payers: testPayers,
      config: () => ({ ...config }),
      instruct: (draft, fate) => ({
        ...draft,
        payerKey,
        countryCode: 'DEU',
        deliveryType: 'BANK_DEPOSIT',
        currency: 'EUR',
        amountMinor: amounts[fate],
        attributes: { BankAccountNumber: makeIban() },
      }),
      payments: async ({ reference }) =>
        listPaidAmounts(bank.books, reference).map(({ amount, currency }) =>
          getAmountMinor(amount, getCurrency(currency)),
        ),
      advance: (nowMs) => bank.advance(nowMs),
      files: { from: places.inbox, to: join(folder, 'inbox') },
      close: () => rm(folder, { recursive: true, force: true }),
    };
  },
});

testConformance(subject('eu', 0));
// Instant payments whose status comes after the time-out.
testConformance(subject('instant', 30_000));
