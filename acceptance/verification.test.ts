import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import sharp from 'sharp';
import {
  type Attribute,
  attributePath,
  chooseValues,
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  fillAttributes,
  findPayer,
  pay,
  type Recipient,
  readAttributes,
} from './recipients.ts';
import {
  type Api,
  createAccount,
  ok,
  type Reply,
  readBalance,
  type Service,
  startService,
} from './service.ts';
import { assertProblem, assertShape, locate, patterns } from './shapes.ts';

/** Identity verification: when it is required, uploads, decisions. */

let service: Service;
let api: Api;
const images = { png: '', jpeg: '' };

before(async () => {
  service = await startService();
  api = (await createAccount(service, { USD: '1000000' })).api;
  const plain = {
    create: { width: 320, height: 200, channels: 3, background: '#8899aa' },
  } as const;
  images.png = (await sharp(plain).png().toBuffer()).toString('base64');
  images.jpeg = (await sharp(plain).jpeg().toBuffer()).toString('base64');
});
after(() => service.stop());

type Item = { type: unknown; content: unknown };

const threeItems = (): [Item, Item, Item] => [
  { type: 'face', content: images.jpeg },
  { type: 'document-front', content: images.png },
  { type: 'document-back', content: images.jpeg },
];

const upload = (userToken: string, body: unknown): Promise<Reply> =>
  api.post(`/user/${userToken}/kyc/id`, body);

type Session = Record<string, string>;

const listSessions = async (userToken: string): Promise<Session[]> =>
  ok(await api.get<Session[]>(`/user/${userToken}/kyc/id`));

/** Cash worth more than 1,000 USD, with all other attributes stored. */
async function createLargeCash(): Promise<Recipient> {
  const userToken = await createUser(api);
  const payer = await findPayer(api, deliveryCases.cash, 'amount=1500');
  const attrSetToken = await fillAttributes(api, {
    userToken,
    payer,
    delivery: deliveryCases.cash,
  });
  return { userToken, payer, delivery: deliveryCases.cash, attrSetToken };
}

async function findSelfie(recipient: Recipient): Promise<Attribute | undefined> {
  const attributes = await readAttributes(api, {
    userToken: recipient.userToken,
    destinationToken: recipient.payer.destination_token,
    currency: 'MXN',
  });
  return attributes.find((attribute) => attribute.type === 'IDSelfieCollection');
}

test('cash of exactly 1,000 USD needs no verification, and a cent more does', async () => {
  const recipient = await createLargeCash();
  await pay(api, recipient, { source_amount: 1000 });
  assert.equal(await findSelfie(recipient), undefined);
  const payout = await createPayout(api, recipient, { source_amount: 1000.01 });
  const result = await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(result.status, 'addtl_attr_req');
});

test('cash above the threshold requires a verification, and is paid once approved', async () => {
  const recipient = await createLargeCash();
  assert.equal(await findSelfie(recipient), undefined, 'it appears once a payout asks for it');
  const funds = await readBalance(api);
  const payout = await createPayout(api, recipient, { source_amount: 1500 });
  const asked = await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(asked.status, 'addtl_attr_req');
  assert.equal(asked.pickup_code, '');
  assert.match(asked.errors, /verif/i);
  assert.equal(await readBalance(api), funds);

  const selfie = await findSelfie(recipient);
  assert.ok(selfie, 'the attribute is there');
  assert.equal(selfie.is_optional, false);
  assert.ok(selfie.value.startsWith(`${api.baseUrl}/verify/`), selfie.value);
  assert.match(selfie.token, patterns.attribute);
  await checkPage(selfie.value);

  const reply = await upload(recipient.userToken, threeItems());
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.bytes.length, 0, 'success has an empty body');
  assert.equal(reply.headers['content-type'], undefined);
  const waiting = await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(waiting.status, 'addtl_attr_req', 'submitted is not approved');
  for (const session of await listSessions(recipient.userToken)) {
    assertShape(session, {
      provider: 'string',
      session_id: 'string',
      session_time: patterns.localTime,
      status: [
        'Started',
        'Submitted',
        'Abandoned',
        'Expired',
        'Resubmitted',
        'Declined',
        'Approved',
        'Resubmission requested',
        'Review',
      ],
    });
  }
  ok(await api.post(`/sandbox/kyc/${recipient.userToken}`, { decision: 'approved' }));
  const result = await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(result.status, 'success');
  assert.match(result.pickup_code, /^\d{8}$/);
  assert.equal(await findSelfie(recipient), undefined, 'an approved user is not asked again');
  const statuses = (await listSessions(recipient.userToken)).map((session) => session['status']);
  assert.ok(statuses.includes('Approved'), statuses.join());
});

async function checkPage(link: string): Promise<void> {
  const path = link.slice(api.baseUrl.length);
  const page = await api.get(path, { accept: 'text/html', authorization: [] });
  assert.equal(page.status, 200);
  assert.match(String(page.headers['content-type']), /^text\/html/);
  const unknown = await api.get(`${path.slice(0, -4)}AAAA`, {
    accept: 'text/html',
    authorization: [],
  });
  assert.equal(unknown.status, 404);
}

test('a declined user must be verified again, and can be approved after new images', async () => {
  const recipient = await createLargeCash();
  const payout = await createPayout(api, recipient, { source_amount: 1200 });
  await commitPayout(api, recipient, payout['payout_token']);
  ok(await upload(recipient.userToken, threeItems()));
  ok(await api.post(`/sandbox/kyc/${recipient.userToken}`, { decision: 'declined' }));
  const declined = await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(declined.status, 'addtl_attr_req');
  const statuses = (await listSessions(recipient.userToken)).map((session) => session['status']);
  assert.ok(statuses.includes('Declined'), statuses.join());
  assert.ok(await findSelfie(recipient));
  ok(await upload(recipient.userToken, threeItems()));
  ok(await api.post(`/sandbox/kyc/${recipient.userToken}`, { decision: 'approved' }));
  const result = await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(result.status, 'success');
});

test('the verification attribute is read-only', async () => {
  const recipient = await createLargeCash();
  const payout = await createPayout(api, recipient, { source_amount: 1200 });
  await commitPayout(api, recipient, payout['payout_token']);
  const destination = {
    userToken: recipient.userToken,
    destinationToken: recipient.payer.destination_token,
    currency: 'MXN',
  };
  const attributes = await readAttributes(api, destination);
  const selfie = attributes.find((attribute) => attribute.type === 'IDSelfieCollection');
  const chosen = chooseValues(deliveryCases.cash, attributes);
  for (const value of ['done', selfie?.value, '']) {
    const values = [...chosen, { token: selfie?.token, value }];
    const problem = assertProblem(await api.post(attributePath(destination), { values }), 400);
    assert.deepEqual(locate(problem), [`/values/${chosen.length}/token`], value);
  }
  type Stored = { missing: { token: string; label: string; type: string }[] };
  const stored = ok(await api.post<Stored>(attributePath(destination), { values: chosen }));
  assert.deepEqual(
    stored.missing.map(({ token, type }) => ({ token, type })),
    [{ token: selfie?.token, type: 'IDSelfieCollection' }],
  );
  const again = await findSelfie(recipient);
  assert.match(again?.value ?? '', /\/verify\//);
  const result = await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(result.status, 'addtl_attr_req');
});

test('an upload must have three valid items; faults name the item, and nothing is stored', async () => {
  const userToken = await createUser(api);
  const [face, front, back] = threeItems();
  const withFace = (item: Partial<Item>): Item[] => [{ ...face, ...item }, front, back];
  const gif = Buffer.from('R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64');
  const cut = images.png.slice(0, 40);
  const cases: [string, unknown, string | undefined][] = [
    ['nothing', [], ''],
    ['an object', { face }, ''],
    ['two items', [face, front], ''],
    ['four items', [face, front, back, face], ''],
    ['one type twice', [face, front, front], undefined],
    ['an unknown type', withFace({ type: 'passport' }), '/0/type'],
    ['another case of the type', withFace({ type: 'Face' }), '/0/type'],
    ['no type', [{ content: images.png }, front, back], '/0/type'],
    ['no content', [{ type: 'face' }, front, back], '/0/content'],
    ['content that is no text', withFace({ content: 5 }), '/0/content'],
    ['an empty content', withFace({ content: '' }), '/0/content'],
    ['no Base64', withFace({ content: '!!!!' }), '/0/content'],
    [
      'Base64 without its padding',
      withFace({ content: images.png.replace(/=+$/, '').slice(0, -1) }),
      '/0/content',
    ],
    [
      'Base64 with a line break',
      withFace({ content: `${images.png.slice(0, 76)}\n${images.png.slice(76)}` }),
      '/0/content',
    ],
    ['Base64 for addresses', withFace({ content: '-_-_' }), '/0/content'],
    ['a data address', withFace({ content: `data:image/png;base64,${images.png}` }), '/0/content'],
    [
      'a text',
      withFace({ content: Buffer.from('hello, this is no image').toString('base64') }),
      '/0/content',
    ],
    ['a GIF', withFace({ content: gif.toString('base64') }), '/0/content'],
    ['an image that is cut off', withFace({ content: cut }), '/0/content'],
    ['an item that is null', [null, front, back], '/0'],
  ];
  for (const [name, body, pointer] of cases) {
    const problem = assertProblem(await upload(userToken, body), 400);
    if (pointer !== undefined)
      assert.deepEqual(locate(problem), [pointer], `${name} ${JSON.stringify(problem.errors)}`);
  }
  assert.deepEqual(await listSessions(userToken), []);
});

test('an image above a limit is refused', async () => {
  const userToken = await createUser(api);
  const [, front, back] = threeItems();
  const wide = await sharp({ create: { width: 10_001, height: 1, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  // In gray, so that it is fast to write.
  const dense = await sharp(Buffer.alloc(8000 * 5001), {
    raw: { width: 8000, height: 5001, channels: 1 },
  })
    .toColourspace('b-w')
    .png({ compressionLevel: 1 })
    .toBuffer();
  for (const image of [wide, dense]) {
    const reply = await upload(userToken, [
      { type: 'face', content: image.toString('base64') },
      front,
      back,
    ]);
    assert.deepEqual(locate(assertProblem(reply, reply.status === 413 ? 413 : 400)), [
      '/0/content',
    ]);
  }
  const long = 'A'.repeat(10 * 1024 * 1024 + 4);
  const reply = await upload(userToken, [{ type: 'face', content: long }, front, back]);
  assert.deepEqual(locate(assertProblem(reply, 413)), ['/0/content']);
  assert.deepEqual(await listSessions(userToken), []);
  const huge = await upload(userToken, `["${'A'.repeat(33 * 1024 * 1024)}"]`);
  assertProblem(huge, 413);
  ok(await api.get('/account/balance'));
});

test('a large image within the limits is accepted', async () => {
  const userToken = await createUser(api);
  const [face, front] = threeItems();
  const edge = await sharp({ create: { width: 10_000, height: 1, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  ok(
    await upload(userToken, [
      face,
      front,
      { type: 'document-back', content: edge.toString('base64') },
    ]),
  );
  assert.equal((await listSessions(userToken)).length, 1);
});

test('images are accepted in any order, and with a key once', async () => {
  const userToken = await createUser(api);
  const path = `/user/${userToken}/kyc/id`;
  const headers = { 'idempotency-key': randomUUID() };
  const body = threeItems().toReversed();
  const first = await api.post(path, body, headers);
  const second = await api.post(path, body, headers);
  assert.equal(first.status, 200);
  assert.equal(second.status, 200);
  assert.equal(second.headers['idempotent-replayed'], 'true');
  assert.equal(second.bytes.length, 0);
  assert.equal((await listSessions(userToken)).length, 1);
});

test('an upload for a user of another account is not found', async () => {
  const other = (await createAccount(service)).api;
  const userToken = await createUser(other);
  assertProblem(await upload(userToken, threeItems()), 404, 'not_found');
  assertProblem(await upload('usr_x', threeItems()), 404, 'not_found');
});

test('a bank deposit of the same amount needs no verification', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank, { query: 'amount=1500' });
  await pay(api, recipient, { source_amount: 1500 });
});

test('an approved user is paid cash without another verification', async () => {
  const recipient = await createLargeCash();
  ok(await upload(recipient.userToken, threeItems()));
  ok(await api.post(`/sandbox/kyc/${recipient.userToken}`, { decision: 'approved' }));
  await pay(api, recipient, { source_amount: 2000 });
});
