import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startMailServer } from '../../../testing/setups/mail.ts';
import { ConfigError, readConfig } from '../../config.ts';
import { checkNotices, checkTemplates } from './notice-checks.ts';

const folder = mkdtempSync(join(tmpdir(), 'outlay-notice-checks-'));
after(() => rmSync(folder, { recursive: true }));

const base = {
  OUTLAY_PUBLIC_URL: 'https://api.example.com',
  OUTLAY_NOTICE_FROM: 'no-reply@example.com',
};
const check = (settings: Record<string, string>) =>
  checkNotices({ config: readConfig({ ...base, ...settings }), name: 'live' });

test('the mail server is connected to, and gets no message', async () => {
  await using server = await startMailServer();
  const [finding] = await check({ OUTLAY_LIVE_SMTP_URL: server.url });
  assert.deepEqual(finding, {
    isFine: true,
    text: `live: the mail server 127.0.0.1:${server.port} answers`,
  });
  assert.deepEqual(server.tries, []);
});

test('a mail server that cannot be reached, and a forbidden SMS provider, are problems', async () => {
  const findings = await check({
    OUTLAY_LIVE_SMTP_URL: 'smtp://user:secret@127.0.0.1:2',
    OUTLAY_LIVE_SMS_URL: 'https://:secret@10.0.0.1/messages',
  });
  const problems = findings.filter(({ isFine }) => !isFine).map(({ text }) => text);
  assert.equal(problems.length, 2);
  assert.match(
    problems[0] ?? '',
    /^live: the mail server 127\.0\.0\.1:2: .*ECONNREFUSED.*OUTLAY_LIVE_SMTP_URL/,
  );
  assert.match(problems[1] ?? '', /^OUTLAY_LIVE_SMS_URL must not lead to a private/);
  assert.doesNotMatch(problems.join(), /secret/);
});

test('without a channel there is nothing to check', async () => {
  assert.deepEqual(await check({ OUTLAY_SMTP_URL: 'smtp://127.0.0.1:2' }), []);
  assert.deepEqual(checkTemplates(readConfig({})), []);
});

test('every fault of a template is a problem of its own', () => {
  mkdirSync(join(folder, 'es'));
  writeFileSync(join(folder, 'es/completed.txt'), 'subject: {{amuont}}\nsms: x\n\nHola {{name}}\n');
  const findings = checkTemplates(readConfig({ OUTLAY_NOTICE_TEMPLATES: folder }));
  assert.deepEqual(
    findings.map(({ text }) => text),
    [
      'OUTLAY_NOTICE_TEMPLATES: es/completed.txt: {{amuont}} is not a placeholder',
      'es/completed.txt: {{name}} is not a placeholder',
    ],
  );
});

test('settings that need each other are named, without their secrets', () => {
  const smtp = { OUTLAY_LIVE_SMTP_URL: 'smtp://user:secret@mail.example.com' };
  for (const [settings, fault] of [
    [
      { ...smtp },
      /^OUTLAY_LIVE_SMTP_URL requires OUTLAY_NOTICE_FROM; OUTLAY_LIVE_SMTP_URL requires OUTLAY_PUBLIC_URL,/,
    ],
    [
      { ...smtp, OUTLAY_NOTICE_FROM: 'a@example.com' },
      /^OUTLAY_LIVE_SMTP_URL requires OUTLAY_PUBLIC_URL, to which notices link$/,
    ],
    [
      { OUTLAY_SMS_URL: 'https://:secret@sms.example' },
      /^OUTLAY_SMS_URL requires OUTLAY_PUBLIC_URL/,
    ],
    [{ OUTLAY_SMTP_URL: 'mail.example.com:secret' }, /^OUTLAY_SMTP_URL must be smtp\(s\):\/\/user/],
    [{ OUTLAY_NOTICE_FROM: 'Aurelia <a@example.com>' }, /^OUTLAY_NOTICE_FROM must be an e-mail/],
  ] as const) {
    assert.throws(
      () => readConfig(settings),
      (error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, fault);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
  }
});
