import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { testConformance } from '../../../testing/conformance/conformance.ts';
import { listPaidAmounts } from '../../../testing/counterparties/iso20022/bank-books.ts';
import {
  openBankSimulator,
  setBankOptions,
} from '../../../testing/counterparties/iso20022/bank-simulator.ts';
import { startSshServer } from '../../../testing/counterparties/iso20022/sshd.ts';
import { makeConfig, makeIban, testPayers } from '../../../testing/setups/iso20022.ts';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import { railModule } from './rail.ts';

/** The same suite with a real SFTP server between rail and bank, and a faulty line. */

const amounts = { paid: 10_000n, rejected: 10_100n, returned: 10_200n };
const server = await startSshServer();
after(() => server.stop());

testConformance({
  module: railModule,
  clock: 'steered',
  casesAtOnce: 1,
  callMsMax: 10_000,
  stepsMax: 4,
  exchangesMax: 1,
  unsupported: {
    http: 'SSH is no HTTP',
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
      settleAfterMs: 60_000,
      returnAfterMs: 120_000,
    });
    const bank = await openBankSimulator(places);
    for (const name of ['inbox', 'archive', 'quarantine']) await mkdir(join(folder, name));
    return {
      payers: testPayers,
      address: { host: '127.0.0.1', port: server.port },
      config: (address) =>
        makeConfig(folder, {
          exchange: {
            mode: 'sftp',
            host: address?.host,
            port: address?.port,
            user: server.user,
            privateKey: server.privateKey,
            hostKeyFingerprints: [server.fingerprint],
            timeoutSeconds: 3,
            outbox: join(folder, 'outbox'),
            inbox: join(folder, 'inbox'),
            archive: join(folder, 'archive'),
            quarantine: join(folder, 'quarantine'),
          },
        }),
      instruct: (draft, plannedOutcome) => ({
        ...draft,
        payerKey: 'eu',
        countryCode: 'DEU',
        deliveryType: 'BANK_DEPOSIT',
        currency: 'EUR',
        amountMinor: amounts[plannedOutcome],
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
