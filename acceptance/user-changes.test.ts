import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeUser, type User } from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Api, ok } from './service.ts';
import { assertProblem, locate } from './shapes.ts';

/** Defaults of recipients after a change, and look-ups by several parameters. */

let api: Api;
serveTests({}, (served) => {
  ({ api } = served);
});

test('an empty text resets language and time zone to their defaults', async () => {
  const given = { language: 'es', timezone: 'Europe/Madrid' };
  const { user_token: token } = ok(await api.post<User>('/user', describeUser(given)));
  const reset = ok(await api.put<User>(`/user/${token}`, { language: '', timezone: '' }));
  assert.deepEqual([reset['language'], reset['timezone']], ['en', 'America/Mexico_City']);
});

test('the default time zone follows the country, and a chosen one stays', async () => {
  const { user_token: token } = ok(await api.post<User>('/user', describeUser()));
  const moved = ok(await api.put<User>(`/user/${token}`, { country: 'JPN' }));
  assert.equal(moved['timezone'], 'Asia/Tokyo');
  ok(await api.put(`/user/${token}`, { timezone: 'Europe/Madrid' }));
  const again = ok(await api.put<User>(`/user/${token}`, { country: 'DEU' }));
  assert.equal(again['timezone'], 'Europe/Madrid');
});

test('a look-up with several parameters finds a user whom all of them describe', async () => {
  const request = describeUser();
  const { user_token: token } = ok(await api.post<User>('/user', request));
  const { internal_user_id: id, email } = request as Record<string, string>;
  const find = (query: Record<string, string | undefined>) =>
    api.get<User>(
      `/user/lookup?${new URLSearchParams(query as Record<string, string>).toString()}`,
    );
  for (const more of [{ email }, { first_name: 'ana' }, { email, first_name: 'ANA' }]) {
    assert.equal(ok(await find({ internal_user_id: id, ...more }))['user_token'], token);
  }
  for (const more of [
    { email: 'no@example.org' },
    { first_name: 'Eva' },
    { email, first_name: 'Eva' },
  ]) {
    assertProblem(await find({ internal_user_id: id, ...more }), 404, 'not_found');
  }
  for (const query of [
    'internal_user_id=',
    'email=&first_name=',
    'email=a@b.co',
    'first_name=Ana',
  ]) {
    assertProblem(await api.get(`/user/lookup?${query}`), 400);
  }
});

test('an address to which no mail can be sent is refused', async () => {
  const label = 'a'.repeat(63);
  for (const domain of [
    'b',
    'b..co',
    '.b.co',
    'b.co.',
    '-b.co',
    'b-.co',
    'b.c',
    `${label}a.org`,
    '[192.0.2.1]',
    'b,c.org',
    'b.co;c.org',
  ]) {
    const reply = await api.post('/user', describeUser({ email: `ana@${domain}` }));
    assert.deepEqual(locate(assertProblem(reply, 400, 'invalid_value')), ['/email'], domain);
  }
  for (const domain of [
    `${label}.example`,
    'a-b.c.co',
    'bücher.example',
    'xn--bcher-kva.example',
  ]) {
    ok(await api.post('/user', describeUser({ email: `"a.b"+o'c@${domain}` })));
  }
});

test('a look-up takes a composed and a decomposed letter for the same', async () => {
  for (const form of ['NFC', 'NFD'] as const) {
    const request = describeUser({ first_name: 'Ángel'.normalize(form) });
    const { user_token: token } = ok(await api.post<User>('/user', request));
    for (const name of ['Ángel'.normalize('NFC'), 'ángel'.normalize('NFD')]) {
      const query = new URLSearchParams({ email: String(request['email']), first_name: name });
      const found = ok(await api.get<User>(`/user/lookup?${query.toString()}`));
      assert.equal(found['user_token'], token);
    }
  }
});
