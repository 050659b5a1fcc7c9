import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeUser, type User } from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Api, ok } from './service.ts';
import { assertProblem } from './shapes.ts';

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
