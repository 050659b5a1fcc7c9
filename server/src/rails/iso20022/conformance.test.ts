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
import {
  describeScheme,
  makeConfig,
  makeIban,
  makeSchemeInstruction,
  schemePayers,
  testPayers,
} from '../../../testing/setups/iso20022.ts';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import type { Instruction } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import type { Config } from './config.ts';
import { railModule } from './rail.ts';

/** The amount tells the bank what to do, as it is known before the reference is. */
const amounts = { paid: 10_000n, rejected: 10_100n, returned: 10_200n };

type Way = {
  /** How long after a file the bank reports its status. */
  readonly statusAfterMs: number;
  readonly settings: Record<string, unknown>;
  readonly payers: readonly PayerDeclaration[];
  instruct(): Pick<Instruction, 'payerKey' | 'countryCode' | 'currency' | 'attributes'>;
};

const createSubject = (way: Way): ConformanceSubject<Config> => ({
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
      statusAfterMs: way.statusAfterMs,
      settleAfterMs: 60_000,
      returnAfterMs: 120_000,
      charge: '0.25',
      writesStatements: true,
    });
    const bank = await openBankSimulator(places);
    // The bank settles a minute later, and a pass each second would read the same folders until then.
    const config = makeConfig(folder, {
      pollSeconds: 20,
      instant: { pollSeconds: 5 },
      ...way.settings,
    });
    // The file courier needs the folder before the rail makes it.
    await mkdir(join(folder, 'inbox'));
    return {
      payers: way.payers,
      config: () => ({ ...config }),
      instruct: (draft, plannedOutcome) => ({
        ...draft,
        ...way.instruct(),
        deliveryType: 'BANK_DEPOSIT',
        amountMinor: amounts[plannedOutcome],
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

const inEuro = (payerKey: string, statusAfterMs: number): Way => ({
  statusAfterMs,
  settings: {},
  payers: testPayers,
  instruct: () => ({
    payerKey,
    countryCode: 'DEU',
    currency: 'EUR',
    attributes: { BankAccountNumber: makeIban() },
  }),
});

testConformance(createSubject(inEuro('eu', 0)));
// Instant payments whose status comes after the time-out.
testConformance({ ...createSubject(inEuro('instant', 30_000)), isVariant: true });
testConformance({
  ...createSubject({
    statusAfterMs: 30_000,
    settings: describeScheme('fednow'),
    payers: schemePayers,
    instruct: () => {
      const { payerKey, countryCode, currency, attributes } = makeSchemeInstruction();
      return { payerKey, countryCode, currency, attributes };
    },
  }),
  isVariant: true,
});
