import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  commitPayout,
  createPayout,
  createRecipient,
  pay,
  readPayout,
  ways,
} from './recipients.ts';
import { createAccount, readBalance, startService } from './service.ts';

const service = await startService();
after(() => service.stop());
for (const [name, way] of Object.entries(ways))
  test(name, async () => {
    const { api } = await createAccount(service, { USD: '1000' });
    const r = await createRecipient(api, way);
    const p = await pay(api, r);
    console.log(
      p.status,
      p.fee.text,
      await readBalance(api),
      (await readPayout(api, r, p.payout_token)).status,
    );
  });
