import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exec } from '../../src/db/rows.ts';
import type {
  Instruction,
  RailAnswer,
  RailCalls,
  RailObservation,
} from '../../src/rails/contract/contract.ts';
import { emptyBeneficiary } from '../../src/rails/kit/recipient.ts';
import { fromEastern } from '../../src/rails/nacha/banking-days.ts';
import { type NachaConfig, nachaConfigSchema } from '../../src/rails/nacha/config.ts';
import { railModule } from '../../src/rails/nacha/rail.ts';
import {
  type AchSimulator,
  openAchSimulator,
  type SimulatorOptions,
} from '../counterparties/nacha/ach-simulator.ts';
import { openTestHost, type TestHost } from './rail.ts';
import { readRows } from './read-rows.ts';

/** A rail, its folders, its simulated bank and a clock. */

export type NachaBench = {
  readonly folder: string;
  readonly config: NachaConfig;
  readonly host: TestHost;
  readonly rail: RailCalls;
  readonly bank: AchSimulator;
  readonly clock: { nowMs: number };
  /** A second process of the rail on the same records. */
  again(): Promise<RailCalls>;
  close(): Promise<void>;
};

export const context = { signal: new AbortController().signal };

/** Friday, November 20, 2026, 09:00 in New York. */
export const fridayMorningMs = Date.parse('2026-11-20T14:00:00Z');

const iat = {
  gatewayRoutingNumber: '091000019',
  originator: {
    name: 'Outlay Payments Inc',
    street: '15 West Place Street',
    city: 'Jacobstown',
    stateProvince: 'PA',
    postalCode: '19305',
    country: 'US',
  },
};

export function describeConfig(
  folder: string,
  changes: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    odfi: { routingNumber: '121042882', name: 'Test Bank' },
    origin: { id: '1987654321', name: 'Outlay Payments Inc' },
    company: { id: '1987654321', name: 'Outlay' },
    folders: {
      outbox: path.join(folder, 'outbox'),
      inbox: path.join(folder, 'inbox'),
      archive: path.join(folder, 'archive'),
    },
    windows: [
      { closesAt: '10:00', deadline: '10:30', sameDay: true },
      { closesAt: '20:00', deadline: '21:00', sameDay: false },
    ],
    ...changes,
  };
}

export function readTestConfig(changes: Readonly<Record<string, unknown>> = {}): NachaConfig {
  return nachaConfigSchema.parse(describeConfig('/nowhere', changes));
}

export function withIat(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { iat: { ...iat, ...changes } };
}

export async function openBench(
  changes: Readonly<Record<string, unknown>> = {},
): Promise<NachaBench> {
  const folder = await mkdtemp(path.join(tmpdir(), 'outlay-nacha-'));
  const clock = { nowMs: fridayMorningMs };
  const host = await openTestHost({ name: 'bank_us', nowMs: () => clock.nowMs });
  const config = nachaConfigSchema.parse(describeConfig(folder, changes));
  const bank = await openAchSimulator(folder);
  return {
    folder,
    config,
    host,
    rail: await railModule.create(config, host),
    bank,
    clock,
    again: () => railModule.create(config, host),
    close: async () => {
      await host.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A payment of 12.34 to a checking account of a person. */
export function makeInstruction(
  reference: string,
  changes: Partial<Instruction> = {},
): Instruction {
  return {
    reference,
    payerKey: 'ach',
    countryCode: 'USA',
    deliveryType: 'BANK_DEPOSIT',
    currency: 'USD',
    amountMinor: 1234n,
    attributes: {
      BankRoutingNumber: '021000021',
      BankAccountNumber: '1234567890',
      BankAccountType: 'CHECKING',
    },
    beneficiary: { ...emptyBeneficiary, firstName: 'Zoë', lastName: 'Fournier' },
    originator: { accountId: 'account-1', name: 'A Client' },
    pickupCode: '',
    committedAtMs: fridayMorningMs,
    availableAtMs: fridayMorningMs,
    ...changes,
  };
}

export function makeForeignEntry(
  reference: string,
  changes: Partial<Instruction> = {},
): Instruction {
  return makeInstruction(reference, {
    countryCode: 'CAN',
    attributes: {
      BankAccountNumber: '000123456789',
      BankName: 'Citadel Bank',
      SWIFT: 'CITDCATTXXX',
    },
    beneficiary: {
      ...emptyBeneficiary,
      firstName: 'Bek',
      lastName: 'Solutions',
      address1: '2121 Front Street',
      city: 'Lettertown',
      stateProvince: 'AB',
      postalCode: '80014',
      countryCode: 'CAN',
    },
    ...changes,
  });
}

export async function withBench(
  changes: Readonly<Record<string, unknown>>,
  run: (bench: NachaBench) => Promise<void>,
): Promise<void> {
  const bench = await openBench(changes);
  try {
    await run(bench);
  } finally {
    await bench.close();
  }
}

export async function setSimulatorOptions(
  bench: NachaBench,
  options: SimulatorOptions,
): Promise<void> {
  await writeFile(path.join(bench.folder, 'options.json'), JSON.stringify(options));
}

/** Moves the clock to a time of New York, then runs a pass of rail, bank and rail. */
export async function advanceTo(bench: NachaBench, day: string, time: string): Promise<void> {
  bench.clock.nowMs = fromEastern({ day, time });
  await bench.rail.work?.(context);
  await bench.bank.advance(bench.clock.nowMs);
  await bench.rail.work?.(context);
}

/** Backs up what the database knows of the rail; the function restores it. */
export async function backUp({ host }: NachaBench): Promise<() => Promise<void>> {
  const { system } = host.db;
  const [kept] = await readRows<{ records: string; messages: string[]; observations: string[] }>(
    system,
    {
      name: '',
      text: `
        select (select coalesce(json_agg(r), '[]')::text from rail_records r) as records,
          array(select id from rail_messages) as messages,
          array(select id from rail_observations) as observations`,
    },
  );
  const openedBefore = await readRows<{ id: string }>(system, {
    name: '',
    text: 'select id from exceptions',
  });
  return async () => {
    await exec(system, { name: '', text: 'delete from rail_records' });
    const text = `insert into rail_records
      select * from jsonb_populate_recordset(null::rail_records, $1::jsonb)`;
    await exec(system, { name: '', text }, [kept?.records]);
    // Messages cannot be deleted: under other names they are as good as lost.
    for (const [table, ids] of [
      ['rail_messages', kept?.messages],
      ['rail_observations', kept?.observations],
    ] as const) {
      const rename = `update ${table} set id = gen_random_uuid()::text where id <> all ($1)`;
      await exec(system, { name: '', text: rename }, [ids]);
    }
    const close = `update exceptions set problem_id = null, closed_at = now(), resolution = 'lost'
      where id <> all ($1::uuid[])`;
    await exec(system, { name: '', text: close }, [openedBefore.map(({ id }) => id)]);
  };
}

/** Each observation once, since a repeated one has the same id. */
export function summarize(observations: readonly RailObservation[]): string[] {
  const byId = new Map(observations.map((observation) => [observation.id, observation]));
  return [...byId.values()].map(({ reference, outcome, code = '' }) =>
    `${reference} ${outcome} ${code}`.trim(),
  );
}

export function outcomes(answers: readonly RailAnswer[]): string[] {
  return answers.map(({ outcome }) => outcome);
}
