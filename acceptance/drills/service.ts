import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ended, runOutlay } from '../outlay-process.ts';
import { createTargets, type Target } from '../rails-trial/client.ts';
import type { Counterpart } from '../rails-trial/counterpart.ts';
import { openPlannedPartner } from '../rails-trial/partners.ts';
import { findFreePort } from '../rails-trial/processes.ts';
import { createSlot, openDemo, type Slot } from '../rails-trial/service-slots.ts';
import { type Account, createAccount, fund } from '../service.ts';

/** The service in two processes, one for requests and one for work, with a partner that keeps books. */

export const fundedUsd = '100000000';

export type DrilledService = {
  readonly folder: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly serve: Slot;
  readonly work: Slot;
  readonly partner: Counterpart;
  readonly clockFile: string;
  close(): Promise<void>;
};

/** Starts neither of the processes. */
export async function prepareService(
  folder: string,
  url: string,
  changes: Readonly<Record<string, string>> = {},
): Promise<DrilledService> {
  const [port, workPort] = [await findFreePort(), await findFreePort()];
  const clockFile = join(folder, 'ahead-ms');
  writeFileSync(clockFile, '0');
  const own = join(folder, 'partner');
  mkdirSync(own, { recursive: true });
  const callbackUrl = `http://127.0.0.1:${port}/rails/partner`;
  const partner = await openPlannedPartner(partnerPlan, { folder: own, callbackUrl, clockFile });
  const railsFile = join(folder, 'rails.json');
  writeFileSync(railsFile, JSON.stringify({ rails: [partner.config] }));
  const settings = {
    DATABASE_URL: url,
    OUTLAY_MASTER_KEY: randomBytes(32).toString('base64'),
    OUTLAY_RAILS: railsFile,
    OUTLAY_PUBLIC_URL: `http://127.0.0.1:${port}`,
    OUTLAY_QUOTE_SECONDS: '86400',
    OUTLAY_DATABASE_CONNECTIONS: '8',
    OUTLAY_LOG_LEVEL: 'warn',
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    ...changes,
  };
  const serve = createSlot({ name: 'serve', port, folder, settings, role: 'serve' });
  const work = createSlot({ name: 'work', port: workPort, folder, settings, role: 'work' });
  return {
    folder,
    settings,
    serve,
    work,
    partner,
    clockFile,
    close: async () => {
      await serve.stop();
      await work.stop();
      await partner.close();
    },
  };
}

/** What is lost, late and repeated on the way to this partner is a part of what it must stand. */
const partnerPlan = {
  rail: 'partner',
  knobs: {
    settleMs: 200,
    fee: '0.35',
    lostShare: 0.02,
    duplicateShare: 0.1,
    callbackRetryMs: 250,
    faults: [
      { on: 'put', kind: 'error_after', share: 0.02 },
      { on: 'put', kind: 'reset_after', share: 0.02 },
      { on: 'put', kind: 'reset_before', share: 0.02 },
    ],
  },
  payers: [
    {
      key: 'bank',
      name: 'Trial bank',
      country: 'MEX',
      deliveryType: 'BANK_DEPOSIT',
      currencies: ['MXN'],
    },
  ],
} as const satisfies Parameters<typeof openPlannedPartner>[0];

export type Funded = { readonly account: Account; readonly targets: readonly Target[] };

/** A client with money and recipients. */
export async function openClient({ folder, serve, partner }: DrilledService): Promise<Funded> {
  const account = await createAccount({ demo: await openDemo(folder, serve) });
  await fund(account.api, 'USD', fundedUsd);
  return { account, targets: await createTargets(account.api, [partner]) };
}

/**
 * An operator's command beside the process that works. The key is in the folder of the process that
 * serves, whose start creates the owner.
 */
export function operateDrilled(
  { folder, settings }: Pick<DrilledService, 'folder' | 'settings'>,
  words: readonly string[],
): Promise<Ended> {
  const file = join(folder, 'serve', 'staging.operator');
  const key = existsSync(file) ? { OUTLAY_OPERATOR_KEY: readFileSync(file, 'utf8').trim() } : {};
  return runOutlay(
    { dataDirectory: join(folder, 'work'), settings: { ...key, ...settings } },
    words,
  );
}
