/**
 * Quotes a payout through a running service and saves its receipt.
 *
 *     node .ci/receipt.mjs <staging.json> <receipt.pdf>
 */
import { readFileSync, writeFileSync } from 'node:fs';

const [, , stagingFile, pdfFile] = process.argv;
const { base_url, version, api_key } = JSON.parse(readFileSync(stagingFile, 'utf8'));

async function call(method, path, options = {}) {
  const answer = await fetch(`${base_url}/${version}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${api_key}`,
      accept: options.accept ?? 'application/json',
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  if (answer.status === 200) return answer;
  throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
}

const number = `ci-${process.pid}-${Math.floor(process.uptime() * 1e6)}`;
const user = await call('POST', '/user', {
  body: {
    internal_user_id: number,
    country: 'MEX',
    first_name: 'Zoë Ελένη Ольга',
    last_name: 'محمد דוד 小林 देवी',
    email: `${number}@example.com`,
  },
}).then((answer) => answer.json());
const found = await call('GET', '/country/MEX/cheapest').then((answer) => answer.json());
const payer = found.companies
  .flatMap((company) => company.services)
  .find((service) => service.delivery_type === 'BANK_DEPOSIT').payers[0];
const payout = await call('POST', `/payout/${user.user_token}`, {
  body: {
    destination_token: payer.destination_token,
    source_currency_code: 'USD',
    destination_currency_code: 'MXN',
    source_amount: 125.5,
  },
}).then((answer) => answer.json());
const path = `/payout/${user.user_token}/${payout.payout_token}`;
const pdf = await call('GET', path, { accept: 'application/pdf' });
writeFileSync(pdfFile, new Uint8Array(await pdf.arrayBuffer()));
