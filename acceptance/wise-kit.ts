import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Service } from './service.ts';

/** The simulated Wise in a process of its own, and a rails file that pays the Philippines by it. */

type Row = Record<string, unknown>;

/** Its API, and where a test changes its forms. */
type Address = {
  readonly url: string;
  readonly token: string;
  readonly profileId: string;
  readonly webhookKey: string;
  readonly control: string;
};

type FormField = { key: string; when?: unknown };
type Form = { type: string; fields: FormField[] };

export type Wise = {
  /** Of a service that pays by it. */
  readonly settings: { readonly OUTLAY_RAILS: string };
  /** Has its notifications sent to the service. */
  notify(service: Service): Promise<void>;
  /** What it was given of recipients. */
  listRecipients(): Promise<{ details: Row }[]>;
  /** From now on everyone has a tax identification number, not businesses alone. */
  requireTaxId(): Promise<void>;
  stop(): void;
};

export async function startWise(): Promise<Wise> {
  const simulator = join(import.meta.dirname, '../server/testing/counterparties/wise');
  const provider = spawn(process.execPath, [join(simulator, 'wise-process.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const wise = await new Promise<Address>((resolve) => {
    provider.stdout?.once('data', (line) => resolve(JSON.parse(String(line))));
  });
  const folder = mkdtempSync(join(tmpdir(), 'outlay-wise-'));
  const rails = join(folder, 'rails.json');
  writeFileSync(rails, JSON.stringify({ rails: [describeRail(wise)] }));
  return {
    settings: { OUTLAY_RAILS: rails },
    notify: (service) => subscribe(wise, `${service.baseUrl}/rails/wise_eur`),
    listRecipients: async () => {
      const answer = await fetch(`${wise.control}/recipients`);
      return (await answer.json()) as { details: Row }[];
    },
    requireTaxId: () => requireTaxId(`${wise.control}/forms/PHP`),
    stop: () => {
      provider.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function describeRail(wise: Address): Row {
  return {
    kind: 'wise',
    name: 'wise_eur',
    config: {
      baseUrl: wise.url,
      credentials: { token: wise.token },
      profileId: wise.profileId,
      sourceCurrency: 'EUR',
      webhookKeys: [wise.webhookKey],
      pollSeconds: 0.5,
      requirementsSeconds: 1,
    },
    prices: { everySeconds: 5, bearBasisPoints: 10_000 },
    companies: [{ key: 'wise', name: 'Wise' }],
    payers: [
      {
        key: 'wise-ph',
        companyKey: 'wise',
        payerName: 'Wise',
        countryCode: 'PHL',
        deliveryType: 'BANK_DEPOSIT',
        currencies: ['PHP'],
        tariffs: [{ fee: [{ upTo: null, fixed: '0', basisPoints: 0 }] }],
        availability: { delay: { minutes: 5 } },
        options: { recipientType: 'philippines' },
      },
    ],
  };
}

async function subscribe(wise: Address, url: string): Promise<void> {
  const response = await fetch(`${wise.url}/v3/profiles/${wise.profileId}/subscriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${wise.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'Outlay',
      trigger_on: 'transfers#state-change',
      delivery: { version: '4.0.0', url },
    }),
  });
  assert.equal(response.status, 200);
}

async function requireTaxId(address: string): Promise<void> {
  const form = (await (await fetch(address)).json()) as Form;
  const fields = form.fields.map(({ when, ...field }) =>
    field.key === 'taxId' || when === undefined ? field : { ...field, when },
  );
  await fetch(address, { method: 'PUT', body: JSON.stringify({ ...form, fields }) });
}
