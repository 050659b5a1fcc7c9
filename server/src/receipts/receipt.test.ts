import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import sharp from 'sharp';
import { receiptOf } from '../../testing/setups/receipt.ts';
import { createKeyRing, newDataKey } from '../core/sealing.ts';
import { composeReceipt } from './document.ts';
import { selectFonts } from './fonts.ts';
import { createProof } from './proof.ts';
import { closeReceipts, type ReceiptData, renderReceipt as renderSigned } from './receipt.ts';
import { groupDigits, mapTexts, transliterate } from './texts.ts';
import { layOut as layOutDocument, writePdf } from './worker.ts';

after(() => closeReceipts());

const { signing } = createKeyRing(newDataKey());
const renderReceipt = (data: ReceiptData) => renderSigned(data, signing);
const layOut = (document: ReturnType<typeof composeReceipt>) =>
  layOutDocument({ document, proof: createProof(ordinary, signing) });

const ordinary = receiptOf();

const namesByScript: Readonly<Record<string, string>> = {
  Latin: 'Łukasz Ğüneş Þórður Nguyễn Thị Ánh',
  Greek: 'Ελένη Παπαδοπούλου Ἀθῆναι',
  Cyrillic: 'Їжакевич Ђорђевић Өмүрбек',
  Arabic: 'محمد عبد الله ١٢٣',
  'Persian and Urdu': 'نوری‌زاده گلپایگانی ڈاکٹر',
  Hebrew: 'יעקב בן־דוד',
  Devanagari: 'श्रीमती लक्ष्मी क्षत्रिय १२',
  Bengali: 'শ্রী রবীন্দ্রনাথ কৌশিক',
  Gurmukhi: 'ਗੁਰਪ੍ਰੀਤ ਸਿੰਘ',
  Gujarati: 'શ્રી ક્ષત્રિય',
  Tamil: 'கோவிந்தராஜன் ஸ்ரீ',
  Telugu: 'శ్రీనివాస',
  Kannada: 'ಶ್ರೀನಿವಾಸ',
  Malayalam: 'ശ്രീകുമാർ കൃഷ്ണൻ',
  Sinhala: 'ශ්‍රී ක්‍රිෂාන්',
  Thai: 'นายสมชาย น้ำใจดี',
  Lao: 'ນ້ຳ ລາວ',
  Khmer: 'ព្រះរាជាណាចក្រ',
  Burmese: 'မြန်မာ ကြွေး',
  Amharic: 'ኃይለ ሥላሴ',
  Georgian: 'გიორგი ბერიძე',
  Armenian: 'Հայկ Պետրոսյան',
  'Simplified Chinese': '欧阳骨直 王小明',
  'Traditional Chinese': '歐陽骨直 陳大文 ㄅ',
  Japanese: '渡邉骨直 太郎（ワタナベ） ﾜﾀﾅﾍﾞ',
  Korean: '김철수 뷁 金哲洙',
  Emoji: '😀 🇲🇽',
};

function textOfPdf(pdf: Uint8Array): string {
  return Buffer.from(pdf).toString('latin1');
}

/** The glyphs of the recipient's name, from left to right as drawn. */
async function glyphsOfName(recipientName: string): Promise<string[]> {
  const groupsOf = async (name: string) => {
    const data = { ...ordinary, recipientName: name, recipientAddressLines: [], senderName: '' };
    const { compiler, compiled } = await layOut(composeReceipt(data));
    const groups = compiler.plainSvg(compiled).split('<g class="typst-text"').slice(1);
    return groups.map((group) => ({
      x: Number(/matrix\(1 0 0 -1 (\S+) /.exec(group)?.[1]),
      glyphs: Array.from(group.matchAll(/<use xlink:href="#(\w+)"/g), (match) => match[1]),
    }));
  };
  const without = await groupsOf('');
  const withName = await groupsOf(recipientName);
  const start = withName.findIndex(
    ({ glyphs }, at) => String(glyphs) !== String(without[at]?.glyphs),
  );
  return withName
    .slice(start, start + withName.length - without.length)
    .toSorted((left, right) => left.x - right.x)
    .flatMap(({ glyphs }) => glyphs.map(String));
}

async function pixelsOf(data: ReceiptData): Promise<{ ink: number; inkInMargin: number }> {
  const { compiler, compiled } = await layOut(composeReceipt(data));
  const picture = sharp(Buffer.from(compiler.plainSvg(compiled)), { unlimited: true });
  const { data: bytes, info } = await picture
    .flatten({ background: '#fff' })
    .greyscale()
    .raw()
    .toBuffer({ resolveWithObject: true });
  // 16 mm of the page's 210: the margins are 18 mm and more.
  const margin = Math.floor((info.width * 16) / 210);
  let ink = 0;
  let inkInMargin = 0;
  for (let y = 0; y < info.height; y++) {
    for (let x = 0; x < info.width; x++) {
      if ((bytes[(y * info.width + x) * info.channels] ?? 255) > 200) continue;
      ink++;
      const isInside = x >= margin && x < info.width - margin && y >= margin;
      if (!isInside) inkInMargin++;
    }
  }
  return { ink, inkInMargin };
}

test('a receipt is a tagged PDF of one page with a title and a language', async () => {
  const pdf = await renderReceipt(ordinary);
  const text = textOfPdf(pdf);
  assert.ok(text.startsWith('%PDF-1.7'));
  assert.equal(text.match(/\/Type\s*\/Page\b(?!s)/g)?.length, 1);
  assert.match(text, /\/MarkInfo/);
  assert.match(text, /\/Lang\s*\(en\)/);
  assert.match(text, /pdfuaid:part/);
  assert.ok(text.includes(`Payout receipt ${ordinary.payoutToken}`));
});

test('the same data gives the same bytes', async () => {
  const [first, second] = [await renderReceipt(ordinary), await renderReceipt(ordinary)];
  assert.deepEqual(Buffer.from(first), Buffer.from(second));
});

for (const [script, name] of Object.entries(namesByScript)) {
  test(`every character of a name has a glyph: ${script}`, async () => {
    const data = { ...ordinary, recipientName: name, senderName: name };
    const fonts = await selectFonts(name, 'sc');
    assert.deepEqual([...fonts.uncovered], []);
    // The engine refuses PDF/UA-1 when the shaped text has a missing glyph (.notdef).
    assert.equal(writePdf(await layOut(composeReceipt(data))).isAccessible, true);
  });
}

test('the check for missing glyphs detects one', async () => {
  const { compiler } = await layOut(composeReceipt(ordinary));
  const settings = '#set document(title: "x")\n#set text(font: "Receipt Base", fallback: false)\n';
  const page = (text: string) => {
    const compiled = compiler.compile({ mainFileContent: settings + text }).result;
    assert.ok(compiled !== null);
    return writePdf({ compiler, compiled }).isAccessible;
  };
  assert.equal(page('Abc'), true);
  assert.equal(page('漢'), false);
});

test('without the optional fonts a receipt shows names in Latin letters', async () => {
  assert.equal(transliterate('Łukasz Ελένη Ольга श्री'), 'Łukasz Ελένη Ольга श्री');
  assert.equal(transliterate('王小明 (Ltd)'), 'Wang Xiao Ming (Ltd)');
  for (const [script, name] of Object.entries(namesByScript)) {
    if (script === 'Emoji') continue;
    const shown = mapTexts({ ...ordinary, recipientName: name }, transliterate);
    const { families } = await selectFonts(shown.recipientName, 'sc');
    assert.deepEqual(families, ['Receipt Base'], shown.recipientName);
    assert.match(shown.recipientName, /\p{L}/u);
  }
});

test('Arabic letters join', async () => {
  const joined = await glyphsOfName('ححح');
  const apart = await glyphsOfName('ح ح ح');
  assert.equal(new Set(joined).size, 3);
  assert.equal(new Set(apart).size, 1);
});

test('Devanagari letters form conjuncts', async () => {
  assert.equal((await glyphsOfName('क्ष')).length, 1);
  assert.equal((await glyphsOfName('कष')).length, 2);
});

test('right-to-left names run from right to left, their digits from left to right', async () => {
  const [alef, bet, one, two] = [
    await glyphsOfName('א'),
    await glyphsOfName('ב'),
    await glyphsOfName('1'),
    await glyphsOfName('2'),
  ].map((glyphs) => glyphs[0]);
  const drawn = await glyphsOfName('אב12');
  assert.deepEqual(drawn, [one, two, bet, alef]);
});

test('directional overrides do not reorder what is shown', async () => {
  assert.deepEqual(await glyphsOfName('\u202e1234\u202c'), await glyphsOfName('1234'));
});

test('Han characters have the forms of the country', async () => {
  const document = (countryName: string) => composeReceipt({ ...ordinary, countryName });
  assert.equal(document('Japan').hanRegion, 'jp');
  assert.equal(document('China').hanRegion, 'sc');
  const [simplified, japanese] = [await selectFonts('直', 'sc'), await selectFonts('直', 'jp')];
  assert.match(simplified.families.join(), /noto-sans-sc/);
  assert.match(japanese.families.join(), /noto-sans-jp/);
});

test('markup, code and escapes in data are shown as text', async () => {
  const hostile = '#panic("x") *b* $x$ <l> @r `c` \\u{41} #{ [ // /* = #pagebreak()';
  const data = {
    ...ordinary,
    senderName: hostile,
    recipientName: hostile,
    payerName: '"}] #read("/etc/passwd")',
    destination: [{ label: hostile, value: hostile }],
  };
  const pdf = await renderReceipt(data);
  assert.equal(textOfPdf(pdf).match(/\/Type\s*\/Page\b(?!s)/g)?.length, 1);
  const glyphs = await glyphsOfName('#panic("x")');
  assert.equal(glyphs.length, '#panic("x")'.length);
  assert.equal((await glyphsOfName('\\u{41}')).length, 6);
});

test('unsupported code points and malformed text still give a page', async () => {
  const odd =
    '\ud800 \udfff \u{10ffff} \ue000 \u0378 \u{e0001} \u200b \ufeff \u2028 \u{1f9ff}\u{1fae0}';
  const pdf = await renderReceipt({ ...ordinary, recipientName: odd, statusReason: odd });
  assert.ok(textOfPdf(pdf).startsWith('%PDF-'));
});

test('very long values stay on one page and within its margins', async () => {
  const long: ReceiptData = {
    ...ordinary,
    senderName: 'W'.repeat(300),
    recipientName: 'Wolfeschlegelsteinhausenbergerdorff '.repeat(12),
    recipientAddressLines: Array<string>(12).fill('Longstreet '.repeat(30)),
    clientTransferId: 'M'.repeat(50),
    internalUserId: 'w'.repeat(75),
    payerName: 'ك'.repeat(300),
    statusReason: `returned: ${'reason '.repeat(60)}`,
    destination: Array.from({ length: 30 }, (_, index) => ({
      label: 'L'.repeat(200),
      value: (index % 2 === 0 ? '9' : '銀行').repeat(200),
    })),
    sourceAmount: `${'9'.repeat(40)}.99`,
    destinationAmount: `${'8'.repeat(60)}.123456789`,
    exchangeRate: `1.${'3'.repeat(90)}`,
    destinationCurrency: 'ETH',
  };
  const { ink, inkInMargin } = await pixelsOf(long);
  assert.ok(ink > 1000);
  assert.equal(inkInMargin, 0);
});

test('empty values are left out', async () => {
  const bare: ReceiptData = { ...ordinary, status: 'PENDING', recipientAddressLines: [] };
  for (const key of Object.keys(bare) as (keyof ReceiptData)[]) {
    if (typeof bare[key] === 'string' && key !== 'environment' && key !== 'status') {
      Object.assign(bare, { [key]: '' });
    }
  }
  const document = composeReceipt({ ...bare, destination: [] });
  assert.deepEqual(document.dates, []);
  assert.deepEqual(document.delivery, []);
  assert.equal(document.title, 'Payout quote');
  assert.ok((await renderReceipt({ ...bare, destination: [] })).length > 1000);
});

test('grouping keeps every digit and the sign', () => {
  assert.equal(groupDigits('1234567.891234567'), '1,234,567.891234567');
  assert.equal(groupDigits('-999'), '-999');
  assert.equal(groupDigits('100000'), '100,000');
  assert.equal(groupDigits('0.00001027'), '0.00001027');
  const digits = '123456789012345678901234567890';
  assert.equal(groupDigits(digits).replaceAll(',', ''), digits);
  assert.equal(groupDigits('not a number'), 'not a number');
});

test('national amounts show all minor digits, and the points are aligned', () => {
  const { amounts } = composeReceipt({
    ...ordinary,
    destinationCurrency: 'JPY',
    destinationAmount: '155',
  });
  assert.deepEqual(
    amounts.map(({ number, missing }) => [number, missing]),
    [
      ['1,250.00', ''],
      ['3.50', ''],
      ['1,253.50', ''],
      ['155', '.00'],
    ],
  );
});

test('only staging receipts say that no money moved', () => {
  assert.equal(composeReceipt(ordinary).isTest, true);
  assert.equal(composeReceipt({ ...ordinary, environment: 'live' }).isTest, false);
});

test('after the service has stopped, another one in the process makes receipts', async () => {
  closeReceipts();
  assert.match(textOfPdf(await renderReceipt(ordinary)).slice(0, 8), /^%PDF-/);
});
