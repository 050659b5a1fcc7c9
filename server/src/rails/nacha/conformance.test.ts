import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testConformance } from '../../../testing/conformance/conformance.ts';
import {
  listBooked,
  openAchSimulator,
  type SimulatorOptions,
} from '../../../testing/counterparties/nacha/ach-simulator.ts';
import { describeConfig } from '../../../testing/setups/nacha.ts';
import { railModule } from './rail.ts';

const options: SimulatorOptions = {
  rules: [
    // No such bank: refused for its form, before any account was touched.
    { accountEndsWith: '0013', code: 'R13' },
    { accountEndsWith: '0003', code: 'R03', copies: 2 },
  ],
};
const endings = { paid: '0001', rejected: '0013', returned: '0003' } as const;

let accounts = 0;

testConformance({
  module: railModule,
  clock: 'steered',
  unsupported: {
    connection: 'rail and bank meet in folders',
    http: 'rail and bank meet in folders',
    callbacks: 'a bank sends no callbacks',
  },
  openCounterparty: async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'outlay-nacha-'));
    const bank = await openAchSimulator(folder);
    await writeFile(path.join(folder, 'options.json'), JSON.stringify(options));
    // The bank's side of the mail: the suite carries what lies there into the rail's inbox.
    const mail = path.join(folder, 'mail');
    await mkdir(mail);
    return {
      config: () =>
        describeConfig(folder, {
          windows: [],
          closeAfterSeconds: 60,
          paidAfterBankingDays: 0,
          pollSeconds: 86_400,
          folders: {
            outbox: path.join(folder, 'outbox'),
            inbox: mail,
            archive: path.join(folder, 'archive'),
          },
        }),
      instruct: (draft, plannedOutcome) => {
        accounts += 1;
        return {
          ...draft,
          payerKey: 'ach',
          countryCode: 'USA',
          deliveryType: 'BANK_DEPOSIT',
          currency: 'USD',
          amountMinor: BigInt(1_000 + accounts),
          attributes: {
            BankRoutingNumber: '021000021',
            BankAccountNumber: `77${String(accounts).padStart(6, '0')}${endings[plannedOutcome]}`,
            BankAccountType: 'CHECKING',
          },
        };
      },
      payments: async ({ reference }) => {
        const booked = await listBooked(folder);
        return booked
          .filter((entry) => entry.reference === reference && !entry.account.endsWith('0013'))
          .map(({ amountMinor }) => BigInt(amountMinor));
      },
      advance: (nowMs) => bank.advance(nowMs),
      files: { from: path.join(folder, 'inbox'), to: mail },
      close: () => rm(folder, { recursive: true, force: true }),
    };
  },
});
