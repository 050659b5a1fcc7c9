import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getCurrency } from '../core/currency.ts';
import { composeEmail, composeSms } from './compose.ts';
import { formatMoment, formatMoney, openCulture } from './culture.ts';
import { readTemplate } from './template.ts';

const cultureOf = (language: string, country: string, timeZone: string) =>
  openCulture({ language, country, timeZone });
const mexico = cultureOf('es', 'MX', 'America/Mexico_City');
const egypt = cultureOf('ar', 'EG', 'Africa/Cairo');

const template = readTemplate(
  `subject: {{amount}} from {{sender}}
sms: {{amount}}: {{pickup_code}}

Hello <{{recipient}}>,
second line

{{pickup_code}}

[Receipt & more]({{receipt_link}})
`,
  'ready_for_pickup',
).value;
const values = {
  recipient: 'Ana "A" <b>',
  sender: 'A & B {{amount}}',
  amount: '100 $',
  pickup_code: '1234',
  receipt_link: 'https://x.example/receipt/abc',
};
const look = { layout: '{{direction}} {{language}}|{{content}}|{{test}}', color: '', logoId: '' };

test('amounts are exact and in the form of the culture', () => {
  const format = (minor: bigint, code: string, culture = mexico): string =>
    formatMoney(minor, getCurrency(code), culture).replaceAll(/[\u00a0\u202f]/g, ' ');
  assert.equal(format(189_000n, 'MXN'), '$1,890.00');
  assert.equal(format(189_000n, 'MXN', cultureOf('de', 'DE', 'Europe/Berlin')), '1.890,00 MX$');
  assert.equal(
    format(999_999_999_999_999n, 'KWD', cultureOf('en', 'KW', 'Asia/Kuwait')),
    'KWD 999,999,999,999.999',
  );
  assert.equal(format(1500n, 'JPY', cultureOf('ja', 'JP', 'Asia/Tokyo')), '￥1,500');
  assert.equal(format(12_345_678n, 'BTC'), '0.12345678 BTC');
  assert.equal(format(1_500_000n, 'USDC', cultureOf('fr', 'FR', 'Europe/Paris')), '1,5 USDC');
  const german = cultureOf('en', 'DE', 'Europe/Berlin');
  assert.equal(format(123_456n, 'EUR', german), '€1,234.56');
  assert.equal(format(1_234_567_000n, 'USDC', german), '1,234.567 USDC');
  assert.match(format(189_050n, 'EGP', egypt), /١٬٨٩٠٫٥٠/);
});

test("times are in the recipient's zone and language", () => {
  const at = new Date('2026-01-01T03:30:00Z');
  assert.match(formatMoment(at, mexico), /31 de diciembre de 2025.*9:30/);
  const urdu = formatMoment(at, cultureOf('ur', 'PK', 'Asia/Karachi'));
  assert.match(urdu, /\u2066\s?8:30 AM GMT ?\+5\u2069$/);
  assert.doesNotMatch(formatMoment(at, egypt), /\u2066/);
  assert.match(formatMoment(at, cultureOf('ja', 'JP', 'Asia/Tokyo')), /2026年1月1日.*12:30/);
});

test('values are inserted once, and their characters are no markup', () => {
  const composition = { template, values, culture: mexico, environment: 'live' } as const;
  const { subject, text, html } = composeEmail(composition, look);
  assert.equal(subject, '100 $ from A & B {{amount}}');
  assert.equal(
    text,
    'Hello <Ana "A" <b>>,\nsecond line\n\n1234\n\nReceipt & more\nhttps://x.example/receipt/abc\n',
  );
  assert.match(html, /^ltr es\|/);
  assert.match(html, /Hello &lt;<bdi>Ana &quot;A&quot; &lt;b&gt;<\/bdi>&gt;,<br>second line/);
  assert.match(html, /Receipt &amp; more<\/a>/);
  assert.match(html, /\|$/);
  assert.equal(composeSms(composition), '100 $: 1234');
});

test('in a language written from right to left, values keep their own direction', () => {
  const composition = { template, values, culture: egypt, environment: 'live' } as const;
  const { text, html } = composeEmail(composition, look);
  assert.match(html, /^rtl ar\|/);
  assert.match(text, /Hello <\u2068Ana "A" <b>\u2069>/);
});

test('staging says that no money moves', () => {
  const composition = { template, values, culture: mexico, environment: 'staging' } as const;
  const { subject, text, html } = composeEmail(composition, look);
  assert.match(subject, /^TEST: /);
  assert.match(text, /^TEST: no money moves\./);
  assert.match(html, /TEST: no money moves\./);
  assert.match(composeSms(composition), /^TEST: no money moves\./);
});
