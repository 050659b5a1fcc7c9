import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { drawDocumentWith, takeFace } from '../../server/testing/documents/faces.ts';
import { photograph } from '../../server/testing/documents/page.ts';
import { specimen, writeZone } from '../../server/testing/documents/zone.ts';
import { writeBooking, writeReport } from '../../server/testing/setups/account-report.ts';
import { debtorIban } from '../../server/testing/setups/iso20022.ts';
import { altLines, asFile, sdnLines } from '../../server/testing/setups/screening.ts';
import { readValues } from '../documented-values.ts';
import {
  type CountryLookup,
  createRecipient,
  createUser,
  deliveryCases,
  fillAttributes,
  listPayers,
  pay,
} from '../recipients.ts';
import { type Api, advance, daySeconds, ok, type Service } from '../service.ts';

/** What needs a person, made as it comes about: by lists, by a bank's files, by lost answers, by uploads. */

export type Counterparties = {
  /** The folder that the bank puts files into, and the one that it takes them from. */
  readonly inbox: string;
  readonly outbox: string;
  readonly settings: Readonly<Record<string, string>>;
  remove(): void;
};

/** Sanctions lists of invented people, and a rail of bank files. */
export function prepareCounterparties(): Counterparties {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-console-'));
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const bank = join(folder, 'bank');
  for (const name of ['outbox', 'inbox', 'archive', 'quarantine']) {
    mkdirSync(join(bank, name), { recursive: true });
  }
  return {
    inbox: join(bank, 'inbox'),
    outbox: join(bank, 'outbox'),
    settings: {
      OUTLAY_RAILS: write('rails.json', JSON.stringify({ rails: [describeBank(bank)] })),
      OUTLAY_SCREENING_OFAC_SDN: write('sdn.csv', asFile(sdnLines)),
      OUTLAY_SCREENING_OFAC_ALT: write('alt.csv', asFile(altLines)),
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

function describeBank(folder: string): object {
  const debtor = {
    key: 'main',
    name: 'Outlay Tests GmbH',
    country: 'DE',
    town: 'Köln',
    iban: debtorIban,
    bic: 'COBADEFFXXX',
    accountCurrency: 'EUR',
    currencies: ['EUR'],
  };
  return {
    kind: 'iso20022',
    name: 'bank_eu',
    config: {
      version: 'pain.001.001.09',
      messagePrefix: 'T1',
      initiatingParty: { name: 'Outlay Tests GmbH', id: '' },
      debtors: [debtor],
      schedule: { everySeconds: 60 },
      pollSeconds: 1,
      exchange: { mode: 'directory', folder },
    },
    companies: [{ key: 'bank', name: 'Rheinbank', description: 'Credit transfers in euro.' }],
    payers: [
      {
        key: 'eu',
        companyKey: 'bank',
        payerName: 'Rheinbank',
        countryCode: 'DEU',
        deliveryType: 'BANK_DEPOSIT',
        currencies: ['EUR'],
        tariffs: [
          {
            fee: [{ upTo: null, fixed: '1', basisPoints: 10 }],
            marginBasisPoints: 50,
            maxLimit: '0',
          },
          {
            effectiveFrom: '2199-01-01T00:00:00Z',
            fee: [
              { upTo: '100', fixed: '0.50', basisPoints: 0 },
              { upTo: null, fixed: '1', basisPoints: 0 },
            ],
            rates: { 'USD/EUR': '0.91' },
            maxLimit: '50000',
          },
        ],
        availability: { delay: { minutes: 60 } },
      },
    ],
  };
}

/** Tokens of recipients, by what happened to them. */
export type Incidents = { verified: string; listed: string };

/** Names with markup, which no page may run. */
export const hostileName = '<img src=x onerror=alert(1)>';

export async function createIncidents(
  service: Service,
  { inbox, outbox }: Counterparties,
): Promise<Incidents> {
  const { demo: api } = service;
  await payByBank(api);
  const lost = readValues('Wallet addresses', 'LTC').get('unknown');
  assert.ok(lost !== undefined);
  const unknown = await createRecipient(api, deliveryCases.crypto, {
    chosen: { BankAccountNumber: lost },
    person: { last_name: hostileName },
  });
  await pay(api, unknown, { source_amount: 25 });
  const listed = await createRecipient(api, deliveryCases.bank, {
    person: { first_name: 'Timofey', middle_name: 'Arkadyevich', last_name: 'Zverovsky' },
  });
  await pay(api, listed, { source_amount: 40 });
  const verified = await createRecipient(api, deliveryCases.cash, {
    person: { first_name: 'Anna', last_name: 'Eriksson', date_of_birth: '1974-08-12' },
  });
  ok(await api.post(`/user/${verified.userToken}/kyc/id`, await drawDocuments()));
  const debit = writeBooking({ reference: 'T1NOBODYSPAYMENT', number: 'B-77' });
  deliver(inbox, 'debit.xml', writeReport(debit));
  deliver(
    inbox,
    'broken.xml',
    '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><',
  );
  // After a day without an answer the payout is held.
  await advance(api, daySeconds + 7_200);
  await waitForEmpty(inbox);
  const reference = readReference(outbox);
  const excess = { reference, direction: 'CRDT', amount: '34.50', details: closedAccount } as const;
  deliver(inbox, 'return.xml', writeReport(writeBooking(excess)));
  await waitForEmpty(inbox);
  return { verified: verified.userToken, listed: listed.userToken };
}

const closedAccount = '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>';

/** 30 euros, of which the bank returns more. */
async function payByBank(api: Api): Promise<void> {
  const delivery = { country: 'DEU', deliveryType: 'BANK_DEPOSIT', currency: 'EUR' };
  const lookup = ok(await api.get<CountryLookup>(`/country/${delivery.country}/cheapest`));
  const payer = listPayers(lookup, delivery).find(({ payer_name: name }) => name === 'Rheinbank');
  assert.ok(payer !== undefined);
  const userToken = await createUser(api, { country: 'DEU', last_name: 'Brandt' });
  const attrSetToken = await fillAttributes(api, { userToken, payer, delivery });
  await pay(api, { userToken, payer, delivery, attrSetToken }, { destination_amount: 30 });
}

/** Of the only payment that the bank was sent. */
function readReference(outbox: string): string {
  const texts = readdirSync(outbox).map((name) => readFileSync(join(outbox, name), 'utf8'));
  const [reference = '', ...others] = texts.flatMap((text) =>
    [...text.matchAll(/<EndToEndId>([^<]+)</g)].map(([, id = '']) => id),
  );
  assert.deepEqual([reference === '', others], [false, []]);
  return reference;
}

/** Files appear whole, as banks deliver them. */
function deliver(inbox: string, name: string, text: string): void {
  const beside = join(inbox, '..', name);
  writeFileSync(beside, text);
  renameSync(beside, join(inbox, name));
}

/** A face twice, of a package of tests: no picture of it is kept. */
export async function drawFaces(): Promise<object[]> {
  const document = (await drawDocumentWith('anna')).toString('base64');
  return [
    { type: 'face', content: (await takeFace('anna')).toString('base64') },
    { type: 'document-front', content: document },
    { type: 'document-back', content: document },
  ];
}

async function drawDocuments(): Promise<object[]> {
  const front = await photograph(
    { format: 'TD3', zone: writeZone('TD3', specimen) },
    'tilted by 2 degrees',
  );
  const plain = {
    create: { width: 640, height: 420, channels: 3, background: '#8899aa' },
  } as const;
  const back = await sharp(plain).jpeg().toBuffer();
  const face = await sharp(Buffer.from(portrait)).jpeg().toBuffer();
  return [
    { type: 'face', content: face.toString('base64') },
    { type: 'document-front', content: front.toString('base64') },
    { type: 'document-back', content: back.toString('base64') },
  ];
}

const portrait = `<svg xmlns="http://www.w3.org/2000/svg" width="480" height="600">
  <rect width="480" height="600" fill="#cfd8dc"/><circle cx="240" cy="240" r="120" fill="#c99a7a"/>
  <circle cx="200" cy="220" r="10"/><circle cx="280" cy="220" r="10"/>
  <path d="M190 300q50 40 100 0" fill="none" stroke="#000" stroke-width="6"/>
  <path d="M90 600q0-190 150-190t150 190" fill="#455a64"/></svg>`;

/** The rail moves what it has read out of its inbox. @throws Error after a minute. */
async function waitForEmpty(inbox: string): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (readdirSync(inbox).length === 0) return;
    await sleep(100);
  }
  throw new Error(`the rail has not read ${readdirSync(inbox).join(', ')}`);
}

/** Until the payout was sent. */
export async function waitForAttempt({ demo: api }: Service, path: string): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    const { attempts } = ok(await api.get<{ attempts: unknown[] }>(`${path}/decision`));
    if (attempts.length > 0) return;
    await sleep(100);
  }
  throw new Error('the payout was not sent');
}
