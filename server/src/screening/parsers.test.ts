import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  altLine,
  altLines,
  asFile,
  sdnLine,
  sdnLines,
  unText,
} from '../../testing/setups/screening.ts';
import { findCountryByName, type ListEntry, type ParsedList } from './list-entry.ts';
import { parseOfac } from './ofac.ts';
import { parseUn } from './un.ts';

const files = { sdn: asFile(sdnLines), alt: asFile(altLines) };

function expectOk(parsed: ParsedList): Extract<ParsedList, { ok: true }> {
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.fault);
  return parsed;
}

function expectFault(parsed: ParsedList, pattern: RegExp): void {
  assert.ok(!parsed.ok);
  assert.match(parsed.fault, pattern);
}

function findEntry(parsed: ParsedList, entryId: string): ListEntry {
  const entry = expectOk(parsed).entries.find((one) => one.entryId === entryId);
  assert.ok(entry !== undefined);
  return entry;
}

test('an SDN entry has its names, weak aliases from the remarks, dates of birth and countries', async () => {
  const parsed = await parseOfac(files);
  assert.deepEqual(findEntry(parsed, '101'), {
    entryId: '101',
    kind: 'person',
    names: [
      { text: 'Timofey Arkadyevich ZVEROVSKY', quality: 'primary' },
      { text: 'Timofei ZVEROVSKI', quality: 'alias' },
      { text: 'THE MILLER', quality: 'weak' },
    ],
    births: [{ from: '1965-08-12', to: '1965-08-12' }],
    countries: ['RUS'],
    programmes: ['SDGT', 'NPWMD'],
    wallets: [],
  });
  assert.deepEqual(findEntry(parsed, '102').births, [
    { from: '1968-01-01', to: '1972-12-31' },
    { from: '1974-01-01', to: '1975-12-31' },
  ]);
  assert.deepEqual(findEntry(parsed, '102').countries, ['IRN', 'IRQ']);
  assert.equal(findEntry(parsed, '103').kind, 'organisation');
});

test('ships are skipped and counted', async () => {
  const parsed = expectOk(await parseOfac(files));
  assert.equal(parsed.skipped, 1);
  assert.equal(parsed.entries.length, 4);
  assert.deepEqual(parsed.warnings, []);
});

test('months and ranges are read as dates of birth', async () => {
  const birthsOf = async (text: string): Promise<ListEntry['births']> => {
    const sdn = asFile([
      sdnLine({ id: 1, name: 'X, Y', type: 'individual', remarks: `DOB ${text}.` }),
    ]);
    return findEntry(await parseOfac({ sdn, alt: asFile([altLine(1, 1, 'Z')]) }), '1').births;
  };
  assert.deepEqual(await birthsOf('Feb 1964'), [{ from: '1964-02-01', to: '1964-02-29' }]);
  assert.deepEqual(await birthsOf('01 Jan 1960 to 31 Dec 1961'), [
    { from: '1960-01-01', to: '1961-12-31' },
  ]);
  assert.deepEqual(await birthsOf('circa 1979-1982'), [{ from: '1977-01-01', to: '1984-12-31' }]);
  assert.deepEqual(await birthsOf('some day'), []);
});

test('a truncated OFAC file is rejected or gives a warning', async () => {
  const { sdn, alt } = files;
  expectFault(await parseOfac({ sdn: sdn.slice(0, -30), alt }), /truncated within a line/);
  const [, ...rest] = expectOk(await parseOfac({ sdn: sdn.slice(0, -1), alt })).warnings;
  assert.deepEqual(rest, []);
  assert.match(
    expectOk(await parseOfac({ sdn, alt: alt.slice(0, -1) })).warnings.join(),
    /no end mark/,
  );
});

test('a file that is not the OFAC list is rejected', async () => {
  const { sdn, alt } = files;
  expectFault(
    await parseOfac({ sdn: '<html>not found</html>\n', alt }),
    /must be CSV|must have 12 columns/,
  );
  expectFault(await parseOfac({ sdn: alt, alt: sdn }), /must have 12 columns/);
  expectFault(await parseOfac({ sdn: '\u001A', alt }), /empty/);
  expectFault(
    await parseOfac({ sdn: asFile([...sdnLines, sdnLines[0] ?? '']), alt }),
    /duplicate entry/,
  );
  expectFault(await parseOfac({ sdn: `${sdn}\n1,2`, alt }), /follows the end mark/);
});

test('aliases of missing entries give a warning', async () => {
  const alt = asFile([...altLines, altLine(999, 7, 'NOBODY')]);
  assert.match(expectOk(await parseOfac({ sdn: files.sdn, alt })).warnings.join(), /1 entries/);
});

test('a UN entry has its names by quality and in original script, dates of birth and countries', async () => {
  const parsed = await parseUn(unText());
  assert.equal(expectOk(parsed).publishedAt, '2026-02-27T00:00:09.554Z');
  assert.deepEqual(findEntry(parsed, '900001'), {
    entryId: '900001',
    kind: 'person',
    names: [
      { text: 'SULTANBEK MARAT ORDUKHANOV', quality: 'primary' },
      { text: 'سلطان اوردوخان', quality: 'alias' },
      { text: 'Sultan Ordukhan', quality: 'alias' },
      { text: 'The Clockmaker', quality: 'weak' },
    ],
    births: [
      { from: '1978-04-28', to: '1978-04-28' },
      { from: '1980-01-01', to: '1981-12-31' },
      { from: '1988-01-01', to: '1992-12-31' },
    ],
    countries: ['IRN'],
    programmes: ['Sample'],
    wallets: [],
  });
  const entity = findEntry(parsed, '900002');
  assert.equal(entity.kind, 'organisation');
  assert.deepEqual(entity.countries, ['YEM']);
  assert.deepEqual(
    entity.names.map(({ text }) => text),
    ['GREY FALCON BRIGADE 27', 'Grey Falcons'],
  );
});

test('a UN list truncated anywhere is rejected', async () => {
  const text = unText();
  for (let length = 0; length < text.length - 1; length += 97) {
    assert.ok(!(await parseUn(text.slice(0, length))).ok, `${length} characters`);
  }
});

test('entities, other root elements and deep nesting are rejected', async () => {
  const doctype = unText().replace('?>', '?><!DOCTYPE x [<!ENTITY a "b">]>');
  expectFault(await parseUn(doctype), /document type/);
  expectFault(await parseUn('<html></html>'), /root element must be/);
  const open = '<X>'.repeat(20);
  expectFault(
    await parseUn(unText({ more: open + open.replaceAll('<', '</') })),
    /nested too deeply/,
  );
});

test('countries are found by the names on the lists', async () => {
  const expected = {
    Burma: 'MMR',
    Syria: 'SYR',
    'Korea, North': 'PRK',
    'Iran (Islamic Republic of)': 'IRN',
  };
  for (const [name, code] of Object.entries(expected)) assert.equal(findCountryByName(name), code);
  assert.equal(findCountryByName('Atlantis'), undefined);
});

const walletText =
  'DOB 12 Aug 1965; Digital Currency Address - XBT 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h; alt. ' +
  'Digital Currency Address - ETH 0x7F367cC41522cE07553e823bf3be79A889DEbe1B; Gender Male';

test('wallet addresses are read from the remarks of an SDN entry', async () => {
  const sdn = asFile([
    sdnLine({ id: 1, name: 'X, Y', type: 'individual', remarks: `${walletText}.` }),
  ]);
  const parsed = await parseOfac({ sdn, alt: asFile([altLine(1, 1, 'Z')]) });
  assert.deepEqual(findEntry(parsed, '1').wallets, [
    { currency: 'XBT', address: '12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h' },
    { currency: 'ETH', address: '0x7F367cC41522cE07553e823bf3be79A889DEbe1B' },
  ]);
  assert.equal(expectOk(parsed).cutOff, 0);
});

test('remarks truncated in sdn.csv continue in sdn_comments.csv, and are counted without it', async () => {
  const whole = `${'Linked To: A; '.repeat(64)}${walletText}.`;
  for (const cut of [1_000, whole.indexOf('XBT ') + 4]) {
    const filled = ' '.repeat(Math.max(0, 1_000 - cut));
    const remarks = filled + whole.slice(0, cut);
    const sdn = asFile([sdnLine({ id: 1, name: 'X, Y', type: 'individual', remarks })]);
    const alt = asFile([altLine(1, 1, 'Z')]);
    const cutOff = await parseOfac({ sdn, alt });
    assert.ok(findEntry(cutOff, '1').wallets.length < 2);
    assert.equal(expectOk(cutOff).cutOff, 1);
    const parsed = await parseOfac({ sdn, alt, comments: asFile([`1,"${whole.slice(cut)}"`]) });
    assert.equal(findEntry(parsed, '1').wallets.length, 2);
    assert.equal(expectOk(parsed).cutOff, 0);
  }
});
