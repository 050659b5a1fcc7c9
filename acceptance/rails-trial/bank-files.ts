import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCurrency } from '../../server/src/core/currency.ts';
import { getAmountMinor } from '../../server/src/core/money.ts';
import {
  type BankFile,
  type BankOrder,
  readBankBooks,
} from '../../server/testing/counterparties/iso20022/bank-books.ts';
import { setBankOptions } from '../../server/testing/counterparties/iso20022/bank-simulator.ts';
import {
  listValidationErrors,
  type SimulatorOptions,
} from '../../server/testing/counterparties/nacha/ach-simulator.ts';
import { readBooks } from '../../server/testing/counterparties/nacha/simulator-books.ts';
import { makeIban } from '../../server/testing/setups/iso20022.ts';
import {
  type BookedPayment,
  type Counterpart,
  type CounterpartPlaces,
  declareRail,
  type PayerPlan,
} from './counterpart.ts';
import { createRevivable } from './processes.ts';

/** The simulated banks, which take files and answer by files: SEPA and cross-border, and US ACH. */

const counterparties = join(import.meta.dirname, '../../server/testing/counterparties');

const euPayers: readonly PayerPlan[] = [
  {
    key: 'sepa',
    name: 'Trial SEPA',
    country: 'DEU',
    deliveryType: 'BANK_DEPOSIT',
    currencies: ['EUR'],
  },
  {
    key: 'japan',
    name: 'Trial Japan',
    country: 'JPN',
    deliveryType: 'BANK_DEPOSIT',
    currencies: ['JPY'],
  },
];

export async function openBank({ folder }: CounterpartPlaces): Promise<Counterpart> {
  await mkdir(folder, { recursive: true });
  await setBankOptions(folder, {
    rules: [
      { match: { share: 0.05 }, decision: 'reject' },
      { match: { share: 0.1 }, decision: 'return', reason: 'AC06' },
      { match: { share: 0.15 }, decision: 'partial_return', returnedAmount: '1' },
    ],
    settleAfterMs: 1000,
    returnAfterMs: 4000,
    charge: '2',
    answersTwice: true,
    writesStatements: true,
  });
  const bank = createRevivable({
    args: [join(counterparties, 'iso20022/bank-simulator.ts'), '--folder', folder],
    logFile: join(folder, 'simulator.log'),
    isReady: (printed) => printed.includes('The bank is open'),
  });
  await bank.start();
  const rail = 'bank_eu';
  return {
    rail,
    config: declareRail(
      { kind: 'iso20022', name: rail, config: describeEuConfig(folder) },
      euPayers,
    ),
    destinations: [
      ...Array.from({ length: 4 }, () => ({
        way: { country: 'DEU', deliveryType: 'BANK_DEPOSIT', currency: 'EUR' },
        payerName: 'Trial SEPA',
        values: { BankAccountNumber: makeIban() },
        plannedOutcome: 'by the reference',
      })),
      {
        way: { country: 'JPN', deliveryType: 'BANK_DEPOSIT', currency: 'JPY' },
        payerName: 'Trial Japan',
        values: {},
        plannedOutcome: 'by the reference',
      },
    ],
    crash: async () => {
      await bank.kill();
      await bank.start();
    },
    isQuiet: async () => {
      const { files } = await readBankBooks(join(folder, 'bank'));
      return [...files.values()].every(isAnswered);
    },
    listBooked: async () => {
      const { files } = await readBankBooks(join(folder, 'bank'));
      return [...files.values()].flatMap(({ orders }) => orders.map(describeOrder));
    },
    close: bank.kill,
  };
}

function isAnswered({ isTaken, answers, orders }: BankFile): boolean {
  const has = (decisions: readonly string[]): boolean =>
    orders.some(({ decision }) => decisions.includes(decision));
  return (
    isTaken &&
    answers.has('status') &&
    (answers.has('debits') || !has(['pay', 'return', 'partial_return'])) &&
    (answers.has('returns') || !has(['return', 'partial_return']))
  );
}

function describeEuConfig(folder: string): unknown {
  return {
    messagePrefix: 'TRIAL',
    initiatingParty: { name: 'Trial Payouts GmbH' },
    debtors: [
      {
        key: 'main',
        name: 'Trial Payouts GmbH',
        country: 'DE',
        town: 'Berlin',
        iban: 'DE89370400440532013000',
        bic: 'COBADEFFXXX',
        accountCurrency: 'EUR',
        currencies: ['EUR', 'JPY'],
      },
    ],
    schedule: { everySeconds: 2, weekend: [] },
    pollSeconds: 1,
    exchange: { mode: 'directory', folder },
  };
}

function describeOrder(order: BankOrder): BookedPayment {
  const { endToEndId, amount, currency, decision, returnedAmount } = order;
  const read = (text: string): bigint => getAmountMinor(text, getCurrency(currency));
  const amountMinor = read(amount);
  const findReturned = (): bigint => {
    if (decision === 'partial_return') return read(returnedAmount);
    return decision === 'return' ? amountMinor : 0n;
  };
  return {
    reference: endToEndId,
    recipient: undefined,
    currency,
    amountMinor,
    state: decision === 'reject' ? 'refused' : 'paid',
    returnedMinor: findReturned(),
  };
}

const usPayers: readonly PayerPlan[] = [
  {
    key: 'ach',
    name: 'Trial ACH',
    country: 'USA',
    deliveryType: 'BANK_DEPOSIT',
    currencies: ['USD'],
  },
];

/** The last two are sent back: as an account that is not there, and for an error of form. */
const achAccounts = ['11110', '22220', '33330', '44440', '55550', '66660', '770003', '880013'];

const achOptions: SimulatorOptions = {
  rules: [
    { accountEndsWith: '0003', code: 'R03', afterMs: 500 },
    { accountEndsWith: '0013', code: 'R13', afterMs: 1500, copies: 2 },
    { everyNth: 9, code: 'C01', afterMs: 500 },
  ],
};

export async function openAch({ folder }: CounterpartPlaces): Promise<Counterpart> {
  await mkdir(folder, { recursive: true });
  const setOptions = async (options: SimulatorOptions): Promise<void> => {
    const draft = join(folder, '.options.json');
    await writeFile(draft, JSON.stringify(options));
    await rename(draft, join(folder, 'options.json'));
  };
  await setOptions(achOptions);
  const bank = createRevivable({
    args: [join(counterparties, 'nacha/ach-simulator.ts'), '--folder', folder],
    logFile: join(folder, 'simulator.log'),
    isReady: (printed) => printed.includes('the simulated bank is open'),
  });
  await bank.start();
  const rail = 'bank_us';
  let isHeldBack = false;
  return {
    rail,
    config: declareRail({ kind: 'nacha', name: rail, config: describeUsConfig(folder) }, usPayers),
    destinations: achAccounts.map((account) => ({
      way: { country: 'USA', deliveryType: 'BANK_DEPOSIT', currency: 'USD' },
      payerName: 'Trial ACH',
      values: {
        BankRoutingNumber: '021000021',
        BankAccountNumber: account,
        BankAccountType: 'CHECKING',
      },
      plannedOutcome: 'by its turn',
    })),
    crash: async () => {
      await bank.kill();
      await bank.start();
    },
    holdBack: () => {
      isHeldBack = true;
      return setOptions({ ...achOptions, silent: true });
    },
    letCome: () => {
      isHeldBack = false;
      return setOptions(achOptions);
    },
    isQuiet: async () => {
      const lines = await readBooks(join(folder, 'books.jsonl'));
      const notices = lines.filter(({ kind }) => kind === 'notice').length;
      return isHeldBack || notices === lines.filter(({ kind }) => kind === 'sent').length;
    },
    listBooked: () => listAchEntries(folder),
    close: bank.kill,
  };
}

function describeUsConfig(folder: string): unknown {
  return {
    odfi: { routingNumber: '121042882', name: 'Trial Bank' },
    origin: { id: '1987654321', name: 'Trial Payments Inc' },
    company: { id: '1987654321', name: 'Trial' },
    folders: {
      outbox: join(folder, 'outbox'),
      inbox: join(folder, 'inbox'),
      archive: join(folder, 'archive'),
    },
    windows: [],
    closeAfterSeconds: 5,
    fileIdentity: 'date_and_time',
    paidAfterBankingDays: 0,
    pollSeconds: 1,
  };
}

async function listAchEntries(folder: string): Promise<BookedPayment[]> {
  const complaints = await listValidationErrors(folder);
  if (complaints.length > 0) {
    throw new Error(`the ACH bank complains: ${JSON.stringify(complaints).slice(0, 1000)}`);
  }
  const lines = await readBooks(join(folder, 'books.jsonl'));
  const codes = new Map<string, string>();
  for (const line of lines) {
    if (line.kind !== 'notice' || !line.notice.code.startsWith('R')) continue;
    // The identifier begins with the trace number of the entry that comes back.
    const [trace = ''] = line.notice.id.split('-');
    codes.set(trace, line.notice.code);
  }
  return lines.flatMap((line) => {
    if (line.kind !== 'entry') return [];
    const { reference, trace, amountMinor } = line;
    const code = codes.get(trace);
    return {
      reference,
      recipient: undefined,
      currency: 'USD',
      amountMinor: BigInt(amountMinor),
      state: code === 'R13' ? 'undone' : 'paid',
      returnedMinor: code === undefined ? 0n : BigInt(amountMinor),
    } satisfies BookedPayment;
  });
}
