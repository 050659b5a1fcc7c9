import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runCommand } from './commands.ts';
import {
  attributePath,
  chooseValues,
  createRecipient,
  createUser,
  type Destination,
  deliveryCases,
  findPayer,
  pay,
  readAttributes,
} from './recipients.ts';
import {
  type Account,
  type Api,
  advance,
  createAccount,
  ok,
  type Service,
  startService,
} from './service.ts';

/** Links of recipients and the pages behind them, without a browser. */

let service: Service;
let account: Account;
let api: Api;

before(async () => {
  // Every request is logged, so that a test can look for what must not be there.
  service = await startService({ isOwn: true, settings: { OUTLAY_LOG_EVERY: '1' } });
  account = await createAccount(service, { USD: '1000' });
  ({ api } = account);
});
after(() => service?.stop());

type Link = Record<string, string> & { url: string };
type Values = { token: string; value: string }[];
type Problem = { code: string; errors: { token?: string; code: string; pointer?: string }[] };

async function createDetailsLink(more: Record<string, unknown> = {}) {
  const userToken = await createUser(api);
  const { destination_token: destinationToken } = await findPayer(api, deliveryCases.bank);
  const target: Destination = { userToken, destinationToken, currency: 'MXN' };
  const link = ok(
    await api.post<Link>(`/user/${userToken}/link`, {
      purpose: 'payout_details',
      destination_token: destinationToken,
      currency: 'MXN',
      ...more,
    }),
  );
  return { target, link };
}

async function call(url: string, values?: Values) {
  const response = await fetch(url, {
    headers: { accept: 'application/json, text/html', 'content-type': 'application/json' },
    ...(values !== undefined && { method: 'POST', body: JSON.stringify({ values }) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : {},
  };
}

const statusOf = async ({ userToken }: Destination) =>
  ok(await api.get<Link[]>(`/user/${userToken}/link`))[0]?.['status'];

test('a link stores details once, as the API does, and shows none of them', async () => {
  const { target, link } = await createDetailsLink({ redirect_url: 'https://shop.example/done' });
  assert.match(link['link_token'] ?? '', /^link_/);
  assert.match(link.url, /\/recipient\/[\w-]{64}$/);
  const page = await call(link.url);
  assert.equal(page.status, 200);
  const policy = String(page.headers.get('content-security-policy'));
  assert.match(policy, /default-src 'none'.*script-src 'self'/);
  assert.doesNotMatch(policy, /unsafe|https?:/);
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
  assert.equal(page.headers.get('cache-control'), 'no-store');
  assert.doesNotMatch(
    page.text,
    /<script(?![^>]*(?:type="application\/json"|src="\/recipient\/assets))/,
  );
  const attributes = await readAttributes(api, target);
  const values = chooseValues(deliveryCases.bank, attributes);
  const [clabe] = values;
  assert.ok(clabe);

  const wrong = [{ ...clabe, value: '032180000118359710' }];
  const checked = await call(`${link.url}/check`, wrong);
  assert.deepEqual(checked.body.errors, [{ token: clabe.token, code: 'check_digit' }]);
  const refused = await call(`${link.url}/details`, [{ ...clabe, value: '' }]);
  assert.equal(refused.status, 400);
  assert.deepEqual(
    (refused.body as Problem).errors.map(({ token, code, pointer }) => [token, code, pointer]),
    [[clabe.token, 'required', '/values/0/value']],
  );
  assert.equal(await statusOf(target), 'OPEN');

  const [first, second] = await Promise.all([
    call(`${link.url}/details`, values),
    call(`${link.url}/details`, values),
  ]);
  assert.deepEqual([first.status, second.status].toSorted(), [200, 409]);
  const stored = await readAttributes(api, target);
  assert.equal(stored.find(({ token }) => token === clabe.token)?.value, clabe.value);
  const [used] = ok(await api.get<Link[]>(`/user/${target.userToken}/link`));
  assert.equal(used?.['status'], 'USED');
  assert.equal(used?.['attr_set_token'], stored[0]?.attr_set_token);
  assert.equal('url' in (used ?? {}), false);

  // A new link to the same destination shows nothing of what is stored.
  const { body, text } = await call(link.url.replace(/$/, '/state'));
  assert.equal(body.reason, 'used');
  const again = ok(
    await api.post<Link>(`/user/${target.userToken}/link`, {
      purpose: 'payout_details',
      destination_token: target.destinationToken,
      currency: 'MXN',
    }),
  );
  for (const shown of [text, first.text, second.text, (await call(again.url)).text]) {
    assert.ok(!shown.includes(clabe.value));
  }
});

test('a new version of a set has the values of the form, and none of the version before', async () => {
  const delivery = { country: 'DEU', deliveryType: 'BANK_DEPOSIT', currency: 'EUR' };
  const userToken = await createUser(api, { country: 'DEU' });
  const { destination_token: destinationToken } = await findPayer(api, delivery);
  const target: Destination = { userToken, destinationToken, currency: 'EUR' };
  const attributes = await readAttributes(api, target);
  const tokenOf = (type: string) => attributes.find((one) => one.type === type)?.token ?? '';
  const [iban, swift] = [tokenOf('BankAccountNumber'), tokenOf('SWIFT')];
  const values = [
    { token: iban, value: 'DE89370400440532013000' },
    { token: swift, value: 'COBADEFFXXX' },
  ];
  const { attr_set_token } = ok(
    await api.post<Record<string, string>>(attributePath(target), { values }),
  );
  const asked = { purpose: 'payout_details', currency: 'EUR', attr_set_token };
  const link = ok(
    await api.post<Link>(`/user/${userToken}/link`, {
      ...asked,
      destination_token: destinationToken,
    }),
  );
  // An account at another bank, whose SWIFT/BIC the recipient leaves out.
  const moved = [
    { token: iban, value: 'DE75512108001245126199' },
    { token: swift, value: '' },
  ];
  assert.equal((await call(`${link.url}/details`, moved)).status, 200);
  const stored = await readAttributes(api, target);
  assert.deepEqual(
    stored.map(({ value, attr_set_token: set }) => [value, set]),
    [
      ['DE75512108001245126199', attr_set_token],
      ['', attr_set_token],
    ],
  );
});

test('a link that is revoked, expired, erased or of another kind does nothing', async () => {
  const cases = {
    revoked: async ({ target, link }: Awaited<ReturnType<typeof createDetailsLink>>) => {
      const path = `/user/${target.userToken}/link/${link['link_token']}/revoke`;
      assert.equal(ok(await api.post<Link>(path, undefined))['status'], 'REVOKED');
    },
    erased: async ({ target }: Awaited<ReturnType<typeof createDetailsLink>>) => {
      ok(await api.post(`/user/${target.userToken}/erasure`, undefined));
    },
    expired: async () => {
      await advance(api, 301);
    },
  };
  for (const [name, end] of Object.entries(cases)) {
    const made = await createDetailsLink({ expires_in_seconds: 300 });
    await end(made);
    const { body } = await call(`${made.link.url}/state`);
    assert.equal(body.reason, name === 'erased' ? 'revoked' : name);
    assert.equal((await call(`${made.link.url}/details`, [])).status, 409);
    if (name === 'erased') assert.equal(body.redirect_url, '');
  }
  const { link } = await createDetailsLink();
  for (const place of ['/images', '/receipt']) {
    const answer = await call(link.url + place, place === '/images' ? [] : undefined);
    assert.ok([404, 406].includes(answer.status), String(answer.status));
  }
  const unknown = `${service.baseUrl}/recipient/${'A'.repeat(64)}`;
  assert.equal((await call(unknown)).status, 404);
  assert.equal((await call(`${unknown}/state`)).status, 404);
  assert.equal((await call(`${link.url}x`)).status, 404);
});

test('the purpose of a link is checked when it is created', async () => {
  const userToken = await createUser(api);
  const post = (body: unknown) => api.post<Problem>(`/user/${userToken}/link`, body);
  const lacking = await post({ purpose: 'payout_details', payout_token: 'payout_1' });
  assert.deepEqual(
    lacking.body.errors.map(({ pointer, code }) => [pointer, code]),
    [
      ['/destination_token', 'required'],
      ['/currency', 'required'],
      ['/payout_token', 'invalid_value'],
    ],
  );
  for (const url of ['http://shop.example', 'javascript:alert(1)', 'https://a:b@shop.example']) {
    const reply = await post({ purpose: 'verification', redirect_url: url });
    assert.equal(reply.body.errors[0]?.pointer, '/redirect_url', url);
  }
  const short = await post({ purpose: 'verification', expires_in_seconds: 10 });
  assert.equal(short.body.errors[0]?.pointer, '/expires_in_seconds');
  const other = await createAccount(service, {});
  const foreign = await other.api.post(`/user/${userToken}/link`, { purpose: 'verification' });
  assert.equal(foreign.status, 404);
});

test('the receipt of a payout has its pickup code only where the link shows it', async () => {
  const recipient = await createRecipient(api, deliveryCases.cash);
  const { payout_token: payoutToken } = await pay(api, recipient);
  const link = ok(
    await api.post<Link>(`/user/${recipient.userToken}/link`, {
      purpose: 'payout_status',
      payout_token: payoutToken,
    }),
  );
  const { body } = await call(`${link.url}/state`);
  assert.equal(body.payout.pickup_code, '');
  assert.equal(body.payout.needs_pickup_code, true);
  assert.equal(body.payout.country_code, 'MX');
  const shown = ok(
    await api.post<Link>(`/user/${recipient.userToken}/link`, {
      purpose: 'payout_status',
      payout_token: payoutToken,
      shows_pickup_code: true,
    }),
  );
  assert.match((await call(`${shown.url}/state`)).body.payout.pickup_code, /^\d{8}$/);
});

test('the brand is checked, and its picture drawn anew', async () => {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="100"><script>alert(1)</script><rect width="300" height="100" fill="#7a1fa2"/></svg>';
  const brand = ok(
    await api.put<Record<string, string>>('/account/brand', {
      display_name: 'Aurelia Remit',
      color: '#ffd400',
      privacy_url: 'https://example.org/privacy',
      logo: Buffer.from(svg).toString('base64'),
    }),
  );
  assert.equal(brand['sender_name'], 'Aurelia Remit');
  const { link } = await createDetailsLink();
  const logo = await fetch(`${link.url}/logo`);
  const bytes = Buffer.from(await logo.arrayBuffer());
  assert.equal(logo.headers.get('content-type'), 'image/png');
  assert.ok(!bytes.includes('alert') && bytes.subarray(1, 4).toString() === 'PNG');
  for (const [field, value] of Object.entries({
    logo: Buffer.from(`<!DOCTYPE svg [<!ENTITY a "b">]>${svg}`).toString('base64'),
    color: 'red',
    privacy_url: 'javascript:alert(1)',
    display_name: 'a\u202eb',
  })) {
    const reply = await api.put<Problem>('/account/brand', { [field]: value });
    assert.equal(reply.status, 400, field);
    assert.equal(reply.body.errors[0]?.pointer, `/${field}`);
  }
  const kept = ok(await api.get<Record<string, string>>('/account/brand'));
  assert.equal(kept['color'], '#ffd400');
});

test('operators create, list and revoke links by command', async () => {
  const userToken = await createUser(api);
  const { destination_token: destination } = await findPayer(api, deliveryCases.bank);
  const words = ['--user', userToken, '--destination', destination, '--currency', 'MXN'];
  const made = await runCommand(service, ['link', 'details', ...words, '--expires', '2h']);
  const path = made['url']?.replace(/^https?:\/\/[^/]+/, '') ?? '';
  assert.equal((await call(service.baseUrl + path)).status, 200);
  const link = made['link_token'] ?? '';
  await runCommand(service, ['link', 'revoke', '--user', userToken, '--link', link]);
  assert.equal((await call(`${service.baseUrl}${path}/state`)).body.reason, 'revoked');
});

test('the language follows the browser, and the address where it names one', async () => {
  const { link } = await createDetailsLink();
  const read = async (query: string, accepted: string) => {
    const response = await fetch(link.url + query, { headers: { 'accept-language': accepted } });
    return /<html lang="(\w+)" dir="(\w+)">/.exec(await response.text())?.slice(1);
  };
  assert.deepEqual(await read('', 'xx, ar-EG;q=0.8, de;q=0.9'), ['de', 'ltr']);
  assert.deepEqual(await read('?lang=ar', 'de'), ['ar', 'rtl']);
  assert.deepEqual(await read('?lang=%3Cscript%3E', 'xx'), ['en', 'ltr']);
});

test('no link is in the log', () => {
  const log = service.output();
  assert.match(log, /recipient\/\{token\}/);
  assert.doesNotMatch(log, /recipient\/[\w-]{40}|032180000118359719/);
});
