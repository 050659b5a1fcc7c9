import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  describeUser,
  payoutPath,
  type Recipient,
} from './recipients.ts';
import { type Api, createAccount, ok, readBalance, type Service, startService } from './service.ts';
import { assertProblem, locate } from './shapes.ts';

/** Malicious bodies: each is refused, nothing is stored, and the process continues. */

let service: Service;
let api: Api;
let recipient: Recipient;

before(async () => {
  service = await startService();
  api = (await createAccount(service, { USD: '1000' })).api;
  recipient = await createRecipient(api, deliveryCases.bank);
});
after(() => service.stop());

/** The content of the account, to show that nothing was added. */
async function countAll(): Promise<string> {
  const events = ok(await api.get<unknown[]>('/events'));
  const history = ok(await api.get<unknown[]>('/user/history?number_of_records=1000'));
  return `${events.length} ${history.length} ${await readBalance(api)}`;
}

/** A payout request with text before its first member. */
function withMember(member: string): string {
  return (
    `{${member}${member === '' ? '' : ','}"destination_token":"${recipient.payer.destination_token}",` +
    `"destination_currency_code":"MXN","source_amount":10}`
  );
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const nestedObjects = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
/** The body itself and the metadata are two levels. */
const insideLevels = 2;

test('32 levels of nesting are accepted, 33 are not', async () => {
  const path = `/payout/${recipient.userToken}`;
  for (const make of [nested, nestedObjects]) {
    ok(await api.post(path, withMember(`"metadata":{"x":${make(32 - insideLevels)}}`)));
    const reply = await api.post(path, withMember(`"metadata":{"x":${make(33 - insideLevels)}}`));
    assertProblem(reply, 400, 'malformed_json');
    ok(await api.post(path, withMember(`"ignored":${make(31)}`)));
    assertProblem(await api.post(path, withMember(`"ignored":${make(32)}`)), 400);
  }
  for (const depth of [33, 1000, 100_000]) assertProblem(await api.post(path, nested(depth)), 400);
  assertProblem(await api.post(path, '['.repeat(200_000)), 400, 'malformed_json');
  assertProblem(await api.post(path, '{"a":'.repeat(50_000)), 400, 'malformed_json');
});

const malformed: Record<string, string | Buffer> = {
  'an empty body': '',
  'white space': ' \n ',
  'half an object': '{"a":1',
  'trailing text': `${withMemberLater()} x`,
  'two values': '{} {}',
  'a trailing comma': '{"a":1,}',
  'a comment': '{"a":1/* no */}',
  'single quotes': "{'a':1}",
  'a bare word': 'hello',
  NaN: '{"source_amount":NaN}',
  Infinity: '{"source_amount":-Infinity}',
  'a plus sign': '{"source_amount":+1}',
  'a leading zero': '{"source_amount":01}',
  'a hexadecimal number': '{"source_amount":0x10}',
  'a number without a fraction after its point': '{"source_amount":1.}',
  'a number without a digit before its point': '{"source_amount":.5}',
  'an immense exponent': '{"source_amount":1e400}',
  'an immense negative exponent': '{"source_amount":1e-400}',
  'a number of a thousand digits': `{"source_amount":${'9'.repeat(1000)}}`,
  'a repeated key': '{"source_amount":1,"source_amount":2}',
  'a repeated key that is spelled differently': '{"source_amount":1,"source\\u005famount":2}',
  'a repeated key deep inside': '{"metadata":{"a":{"b":1,"b":2}}}',
  'an escaped NUL': '{"client_transfer_id":"a\\u0000b"}',
  'an escaped NUL in a key': '{"a\\u0000":1}',
  'a raw NUL': '{"client_transfer_id":"a\u0000b"}',
  'a raw control character': '{"client_transfer_id":"a\u0001b"}',
  'half of a surrogate pair': '{"client_transfer_id":"\\ud800"}',
  'the other half of a surrogate pair': '{"client_transfer_id":"\\udc00x"}',
  'surrogates in the wrong order': '{"metadata":{"a":"\\udc00\\ud800"}}',
  'half of a surrogate pair in a key': '{"metadata":{"\\ud800":1}}',
  'an unknown escape': '{"a":"\\x41"}',
  'a byte order mark': Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{}')]),
  'a byte that is no UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  'an overlong UTF-8 form': Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]),
  'a surrogate in UTF-8': Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
  'UTF-16': Buffer.from('{}', 'utf16le'),
  'compressed bytes': Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]),
};

function withMemberLater(): string {
  return '{"source_amount":1}';
}

for (const [name, body] of Object.entries(malformed)) {
  test(`${name} is malformed JSON, and changes nothing`, async () => {
    const before = await countAll();
    for (const path of [`/payout/${recipient.userToken}`, '/user', '/sandbox/fund']) {
      const reply = await api.post(path, body);
      const problem = assertProblem(reply, 400);
      if (name !== 'a byte order mark') assert.equal(problem.code, 'malformed_json', reply.text);
    }
    assert.equal(await countAll(), before);
  });
}

test('JSON that is not an object is refused', async () => {
  const before = await countAll();
  for (const body of ['null', '[]', '[{}]', '1', '"text"', 'true']) {
    for (const path of [
      `/payout/${recipient.userToken}`,
      '/user',
      '/sandbox/fund',
      '/sandbox/clock',
    ]) {
      assert.deepEqual(
        locate(assertProblem(await api.post(path, body), 400)),
        [''],
        `${path} ${body}`,
      );
    }
  }
  assert.equal(await countAll(), before);
});

test('types are not coerced', async () => {
  const path = `/payout/${recipient.userToken}`;
  for (const [member, pointer] of [
    ['"client_transfer_id":5', '/client_transfer_id'],
    ['"client_transfer_id":null', '/client_transfer_id'],
    ['"notify_user":"true"', '/notify_user'],
    ['"notify_user":1', '/notify_user'],
    ['"metadata":"{}"', '/metadata'],
    ['"metadata":null', '/metadata'],
    ['"metadata":[]', '/metadata'],
    ['"attr_set_token":5', '/attr_set_token'],
    ['"source_currency_code":["USD"]', '/source_currency_code'],
    ['"source_currency_code":"usd"', '/source_currency_code'],
  ]) {
    const problem = assertProblem(await api.post(path, withMember(member ?? '')), 400);
    assert.deepEqual(locate(problem), [pointer], member);
  }
});

test('a number of twenty digits exceeds the maximum amount, and is stored exactly in metadata', async () => {
  const number = '12345678901234567890.12345678901234567890';
  const body = withMember(`"metadata":{"n":${number}}`);
  const reply = await api.post<{ payout_token: string }>(`/payout/${recipient.userToken}`, body);
  assert.ok(reply.text.includes(number));
  const read = await api.get(payoutPath(recipient, ok(reply).payout_token));
  assert.ok(read.text.includes(number));
});

test('another or no content type is 415', async () => {
  for (const type of [
    [],
    '',
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/jsonx',
    'json',
    'application/',
    '/',
    ';',
    'a'.repeat(2000),
  ]) {
    const reply = await api.post('/user', JSON.stringify(describeUser()), { 'content-type': type });
    assertProblem(reply, 415, 'unsupported_media_type');
  }
  for (const type of [
    'application/json;charset=utf-8',
    'APPLICATION/JSON; Charset="UTF-8"',
    'application/json ; charset=utf8',
  ]) {
    ok(await api.post('/user', JSON.stringify(describeUser()), { 'content-type': type }));
  }
});

test('a content coding is refused', async () => {
  const reply = await api.post('/user', JSON.stringify(describeUser()), {
    'content-encoding': 'gzip',
  });
  assertProblem(reply, 415);
});

test('a content type may end with an empty parameter', async () => {
  for (const type of [
    'application/json;',
    'application/json; ',
    'application/json; charset=utf-8;',
  ]) {
    const sent = JSON.stringify(describeUser());
    ok(await api.post('/user', sent, { 'content-type': type }));
  }
});

test('a content type may have parameters that mean nothing here', async () => {
  for (const type of ['application/json; version=1', 'application/json; q="a"; charset=utf-8']) {
    const sent = JSON.stringify(describeUser());
    ok(await api.post('/user', sent, { 'content-type': type }));
  }
  const file = 'client_transfer_id,destination_currency_code\n';
  const type = { 'content-type': 'text/csv; charset=utf-8; header=present' };
  const refused = await api.post('/batches', file, type);
  assert.notEqual(refused.status, 415, refused.text);
});

test('a refused content coding names those that are accepted', async () => {
  const coded = { 'content-encoding': 'gzip' };
  const reply = await api.post('/user', JSON.stringify(describeUser()), coded);
  assertProblem(reply, 415, 'unsupported_media_type');
  assert.equal(reply.headers['accept-encoding'], 'identity');
  // RFC 9110 12.5.3: the header says that the coding was refused, not the type.
  const typed = { 'content-type': 'text/plain' };
  const other = await api.post('/user', JSON.stringify(describeUser()), typed);
  assertProblem(other, 415, 'unsupported_media_type');
  assert.equal(other.headers['accept-encoding'], undefined);
});

test('the absence of a content coding may be stated', async () => {
  for (const coding of ['identity', 'Identity', '']) {
    const sent = JSON.stringify(describeUser());
    ok(await api.post('/user', sent, { 'content-encoding': coding }));
  }
});

test('a body above 256 KiB is 413, and the next request is answered', async () => {
  const padded = (bytes: number): string =>
    JSON.stringify(describeUser({ last_name: 'Gomez' })).padEnd(bytes, ' ');
  ok(await api.post('/user', padded(256 * 1024)));
  for (const bytes of [256 * 1024 + 1, 300_000, 5_000_000]) {
    const reply = await api.post('/user', padded(bytes));
    assertProblem(reply, 413, 'body_too_large');
    ok(await api.get('/account/balance'));
  }
});

test('a chunked body above 256 KiB is 413', async () => {
  const reply = await api.post('/user', 'x'.repeat(400_000), {
    'transfer-encoding': 'chunked',
    'content-length': [],
  });
  assertProblem(reply, 413, 'body_too_large');
});

test('a body is ignored by operations without one', async () => {
  const payout = await createPayout(api, recipient, { source_amount: 10 });
  const path = payoutPath(recipient, payout['payout_token'] ?? '');
  for (const [body, type] of [
    ['{"broken', 'application/json'],
    ['<x/>', 'application/xml'],
    ['x', []],
    ['', ''],
    ['x', 'application/json, text/plain'],
    [nested(1000), 'application/json'],
  ] as const) {
    const headers = { 'content-type': type as string };
    for (const [method, at] of [
      ['GET', '/account/balance'],
      ['GET', path],
      ['PUT', path],
      ['PATCH', path],
    ] as const) {
      const reply = await api.call(method, at, { body, headers });
      assert.equal(reply.status, 200, `${method} ${body} ${reply.text.slice(0, 300)}`);
    }
  }
});

test('names of Object.prototype are ordinary keys', async () => {
  const userToken = await createUser(api, {
    metadata: { constructor: 'a', toString: 'b', hasOwnProperty: 'c' },
  });
  const user = ok(await api.get<{ metadata: Record<string, unknown> }>(`/user/${userToken}`));
  assert.deepEqual({ ...user.metadata }, { constructor: 'a', toString: 'b', hasOwnProperty: 'c' });
  const text = JSON.stringify(describeUser()).replace('{', '{"__proto__":{"country":"USA"},');
  const reply = await api.post<{ country?: string }>('/user', text);
  if (reply.status === 200) assert.equal(reply.body.country, 'MEX');
  else assertProblem(reply, 400);
});

test('SQL and markup in texts have no effect', async () => {
  for (const name of [
    "Robert'); drop table users;--",
    '<script>alert(1)</script>',
    '${7*7}',
    '%s%n',
    '\\',
    '🙂👩‍👩‍👧',
  ]) {
    const userToken = await createUser(api, { first_name: name, metadata: { [name]: name } });
    const user = ok(await api.get<Record<string, unknown>>(`/user/${userToken}`));
    assert.equal(user['first_name'], name);
    assert.deepEqual({ ...(user['metadata'] as object) }, { [name]: name });
  }
  // The mark reverses the following characters, so that the name on a screen differs from the screened one.
  const reply = await api.post('/user', describeUser({ first_name: 'ا\u202eب' }));
  assert.deepEqual(locate(assertProblem(reply, 400)), ['/first_name']);
});

test('the same process still answers afterwards', async () => {
  ok(await api.get('/account/balance'));
  if (service.process !== undefined) assert.equal(service.process.exitCode, null);
  assert.doesNotMatch(service.output(), /unhandled|uncaught|"level":60/i);
  assert.doesNotMatch(service.output(), /Gómez|@example\.org|Robert/, 'logs hold no personal data');
});
