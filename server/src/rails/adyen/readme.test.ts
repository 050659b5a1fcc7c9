import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { adyenAccount, declarePayer } from '../../../testing/setups/adyen.ts';
import { collectAttributes } from '../../attributes/collected-attributes.ts';
import { makeDeclaredCorridor } from '../../attributes/requirements.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { configSchema } from './config.ts';
import { railModule } from './rail.ts';

type Example = {
  config: Record<string, unknown>;
  payers: (Partial<PayerDeclaration> & Pick<PayerDeclaration, 'key' | 'deliveryType'>)[];
};

test('the example of the README is a valid configuration, and each payer of it can be paid', () => {
  const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
  const [, json = ''] = /```json\n(.*?)```/s.exec(readme) ?? [];
  const { config, payers } = JSON.parse(json) as Example;
  const { apiKey, webhookKey } = adyenAccount;
  const secrets = { apiKey, webhookKeys: [webhookKey] };
  assert.equal(configSchema.safeParse({ ...config, ...secrets }).success, true);
  assert.ok(payers.length > 1);
  for (const example of payers) {
    const payer = declarePayer(example.key, example.options ?? {}, example);
    for (const currency of payer.currencies) {
      const collected = collectAttributes(makeDeclaredCorridor(payer, currency));
      assert.deepEqual(railModule.checkPayer?.(payer, collected), [], payer.key);
    }
    const { accountForm, deliveryType } = payer;
    const isServed = railModule.corridors.some(
      (one) => one.deliveryType === deliveryType && one.accountForm === accountForm,
    );
    assert.ok(isServed, payer.key);
  }
});
