/**
 * Pays once through a running service of staging and waits until the payout is completed.
 *
 *     node .ci/drills/pay.mjs <staging.json>
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const { base_url, version, api_key } = JSON.parse(readFileSync(process.argv[2], 'utf8'));

async function call(method, path, body) {
  const folder = path.startsWith('/sandbox/') ? '' : `/${version}`;
  const answer = await fetch(`${base_url}${folder}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${api_key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

const number = `drill-${randomUUID()}`;
const { user_token: user } = await call('POST', '/user', {
  internal_user_id: number,
  country: 'MEX',
  first_name: 'Ana',
  last_name: 'Gómez',
  email: `${number}@example.org`,
});
const { companies } = await call(
  'GET',
  '/country/MEX/cheapest?amount=200&destination_currency=MXN',
);
const bank = companies
  .flatMap(({ services }) => services)
  .find(({ delivery_type: type }) => type === 'BANK_DEPOSIT').payers[0].destination_token;
const [{ token: clabe }] = await call('GET', `/attribute/${user}/${bank}/MXN`);
const { attr_set_token: details } = await call('POST', `/attribute/${user}/${bank}/MXN`, {
  values: [{ token: clabe, value: '032180000118359719' }],
});
const { payout_token: payout } = await call('POST', `/payout/${user}`, {
  destination_token: bank,
  source_currency_code: 'USD',
  destination_currency_code: 'MXN',
  source_amount: 200,
  attr_set_token: details,
});
await call('PUT', `/payout/${user}/${payout}`);
// A bank pays on a later banking day.
await call('POST', '/sandbox/clock', { advance_s: 864_000 });
for (let tries = 0; ; tries += 1) {
  const { status } = await call('GET', `/payout/${user}/${payout}`);
  if (status === 'COMPLETED') break;
  if (tries === 60) throw new Error(`the payout is ${status}`);
  await sleep(500);
}
process.stdout.write('the payout is COMPLETED\n');
