import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Service } from './service.ts';
import { startWise, type Wise } from './wise-kit.ts';

/** The simulated Wise with a rails file that pays the Philippines by it, whose form a test changes. */

export type WiseRequirements = Pick<Wise, 'listRecipients'> & {
  /** Of a service that pays by it. */
  readonly settings: { readonly OUTLAY_RAILS: string };
  /** Has its notifications sent to the service. */
  notify(service: Service): Promise<void>;
  /** From now on everyone has a tax identification number, not businesses alone. */
  requireTaxId(): Promise<void>;
  stop(): void;
};

export async function startWiseRequirements(): Promise<WiseRequirements> {
  const wise = await startWise();
  const folder = mkdtempSync(join(tmpdir(), 'outlay-wise-'));
  const rails = join(folder, 'rails.json');
  writeFileSync(rails, JSON.stringify({ rails: [describeRail(wise)] }));
  return {
    settings: { OUTLAY_RAILS: rails },
    notify: (service) => wise.subscribe(`${service.baseUrl}/rails/wise_eur`),
    listRecipients: wise.listRecipients,
    requireTaxId: async () => {
      const form = await wise.readForm('PHP');
      const fields = form.fields.map(({ when, ...field }) =>
        field.key === 'taxId' || when === undefined ? field : { ...field, when },
      );
      await wise.setForm('PHP', { ...form, fields });
    },
    stop: () => {
      wise.process.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function describeRail(wise: Wise): unknown {
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
