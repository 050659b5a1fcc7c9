import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatRate } from '../core/rate.ts';
import { parseEcbRates } from './ecb.ts';

function writeDay(day: string, rates: Record<string, string>): string {
  const rows = Object.entries(rates).map(
    ([currency, rate]) => `\t\t\t<Cube currency='${currency}' rate='${rate}'/>`,
  );
  return `\t\t<Cube time='${day}'>\n${rows.join('\n')}\n\t\t</Cube>`;
}

function writeFile(...days: string[]): string {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" ' +
      'xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">',
    '\t<gesmes:subject>Reference rates</gesmes:subject>',
    '\t<gesmes:Sender>',
    '\t\t<gesmes:name>European Central Bank</gesmes:name>',
    '\t</gesmes:Sender>',
    '\t<Cube>',
    ...days,
    '\t</Cube>',
    '</gesmes:Envelope>',
  ].join('\n');
}

function readRates(xml: string): Record<string, string> {
  const parsed = parseEcbRates(xml);
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.fault);
  return Object.fromEntries(parsed.quotes.map((quote) => [quote.quote, formatRate(quote.rate)]));
}

function readFault(xml: string): string {
  const parsed = parseEcbRates(xml);
  assert.ok(!parsed.ok, 'the file was taken');
  return parsed.fault;
}

const day = '2026-11-19';

test('the daily file gives exact rates for one euro as of that afternoon', () => {
  const xml = writeFile(writeDay(day, { USD: '1.1580', JPY: '179.10', IDR: '19345.55' }));
  const parsed = parseEcbRates(xml);
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.quotes[0], {
    base: 'EUR',
    quote: 'USD',
    rate: { digits: 1158n, scale: 3 },
    source: 'ecb',
    asOfMs: Date.parse('2026-11-19T14:00:00Z'),
  });
  assert.deepEqual(readRates(xml), { USD: '1.158', JPY: '179.1', IDR: '19345.55' });
});

test('a file of many days gives the newest one, in any order', () => {
  const days = [
    writeDay('2026-11-18', { USD: '1.1' }),
    writeDay('2026-11-19', { USD: '1.2' }),
    writeDay('2026-11-17', { USD: '1.3' }),
  ];
  assert.deepEqual(readRates(writeFile(...days)), { USD: '1.2' });
});

test('a day with a single rate is read', () => {
  assert.deepEqual(readRates(writeFile(writeDay(day, { USD: '1.158' }))), { USD: '1.158' });
});

test('an unknown currency is left out and reported', () => {
  const parsed = parseEcbRates(writeFile(writeDay(day, { USD: '1.1', TRL: '1769000', XYZ: '2' })));
  assert.ok(parsed.ok);
  assert.deepEqual(
    parsed.quotes.map((quote) => quote.quote),
    ['USD'],
  );
  assert.deepEqual(parsed.unknownCurrencies, ['"TRL"', '"XYZ"']);
});

test('no digit of a decimal rate is lost', () => {
  const digits = fc.bigInt({ min: 1n, max: 10n ** 17n });
  fc.assert(
    fc.property(digits, fc.integer({ min: 6, max: 11 }), (value, scale) => {
      const text = formatRate({ digits: value, scale });
      assert.deepEqual(readRates(writeFile(writeDay(day, { USD: text }))), { USD: text });
    }),
  );
});

test('an invalid rate makes the whole file invalid', () => {
  const texts = ['0', '-1.1', '', 'N/A', 'NaN', 'Infinity', '1,158', '0x10', '1e400', ' 1 1'];
  const hugeNumbers = ['9'.repeat(59), '1e50', '0.0000000000000000000000001', '1'.repeat(19)];
  for (const text of [...texts, ...hugeNumbers]) {
    assert.match(
      readFault(writeFile(writeDay(day, { JPY: '179', USD: text }))),
      /must be a positive decimal/,
      text,
    );
  }
});

test('a repeated currency and the euro make the file invalid', () => {
  const twice = writeDay(day, { USD: '1.1', JPY: '179' }).replace('JPY', 'USD');
  assert.match(readFault(writeFile(twice)), /"USD" occurs twice/);
  assert.match(readFault(writeFile(writeDay(day, { EUR: '1' }))), /"EUR" occurs twice/);
});

test('a missing, impossible or repeated day makes the file invalid', () => {
  const rates = { USD: '1.1' };
  assert.match(readFault(writeFile(writeDay(day, rates).replace(/ time='.*?'/, ''))), /time/);
  for (const text of ['', '2026-02-30', '2026-13-01', '19.11.2026', '2026-11-19T10:00:00Z', '9']) {
    assert.match(readFault(writeFile(writeDay(text, rates))), /must be a date/, text);
  }
  assert.match(readFault(writeFile(writeDay(day, rates), writeDay(day, rates))), /occurs twice/);
});

test('missing attributes and empty days make the file invalid', () => {
  for (const row of [`<Cube rate='1'/>`, `<Cube currency='USD'/>`, '<Cube/>', 'text', '']) {
    readFault(writeFile(`<Cube time='${day}'>${row}</Cube>`));
  }
  readFault(writeFile());
});

test('a file with a document type is refused before entities are expanded', () => {
  const bomb =
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>';
  const outside = '<!doctype x [<!ENTITY a SYSTEM "file:///etc/hostname">]>';
  for (const head of [bomb, outside]) {
    const xml = writeFile(writeDay(day, { USD: '&b;' })).replace('?>', `?>${head}`);
    assert.match(readFault(xml), /document type/);
  }
});

test('an invalid file is a fault and not an exception', () => {
  const good = writeFile(writeDay(day, { USD: '1.1', JPY: '179' }));
  const others = [
    '',
    ' ',
    'hello',
    '{"USD": 1}',
    '<html><body>Service unavailable</body></html>',
    '<Envelope/>',
    '<Envelope><Cube/></Envelope>',
    '<a>'.repeat(5_000),
    good.replace("rate='1.1'", "rate='1.1"),
    good.replaceAll('Cube', '__proto__'),
    good.replaceAll('gesmes:Envelope', 'constructor'),
    `${good}${good}`,
  ];
  for (const xml of others) readFault(xml);
  for (let length = 0; length < good.length; length += 7) readFault(good.slice(0, length));
  fc.assert(
    fc.property(fc.string({ maxLength: 200, unit: 'binary' }), (text) => {
      readFault(text);
    }),
  );
});

test('a fault quotes the file shortened and without control characters', () => {
  const text = `\u001b[31m${'x'.repeat(50)}`;
  const fault = readFault(writeFile(writeDay(day, { USD: text })));
  assert.ok(fault.length < 200);
  assert.ok(!fault.includes('\u001b'));
});
