import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readXml } from './xml.ts';

const options = { repeated: new Set(['Item']), depthMax: 4 };

function read(text: string): unknown {
  const reading = readXml(text, options);
  assert.ok(reading.ok, reading.ok ? '' : reading.fault);
  return JSON.parse(JSON.stringify(reading.document));
}

describe('XML as plain data', () => {
  test('namespaces, attributes, text and repeated elements', () => {
    assert.deepEqual(
      read(
        '<?xml version="1.0" encoding="UTF-8"?>\n<n:Root xmlns:n="urn:x" n:id="7">' +
          '<n:Item> one &amp; &#49; </n:Item><Item><![CDATA[<two>]]></Item><!-- no -->' +
          '<Amount Ccy="EUR">1.00</Amount><Other>a</Other><Other>b</Other><Empty/></n:Root>',
      ),
      {
        Root: {
          '@id': '7',
          Item: ['one & 1', '<two>'],
          Amount: { '@Ccy': 'EUR', '#text': '1.00' },
          Other: ['a', 'b'],
          Empty: '',
        },
      },
    );
    assert.deepEqual(read('<Root><Item>one</Item></Root>'), { Root: { Item: ['one'] } });
  });

  test('an element may have the name of a member that every object has', () => {
    const reading = readXml('<Root><__proto__>x</__proto__><constructor/></Root>', options);
    assert.ok(reading.ok);
    assert.deepEqual(Object.keys(reading.document['Root'] ?? {}), ['__proto__', 'constructor']);
  });

  test('a document type is refused before any entity could be expanded', () => {
    for (const text of ['<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', '<!doctype a><a/>']) {
      assert.deepEqual(readXml(text, options), {
        ok: false,
        fault: 'it declares a document type or entities',
      });
    }
  });

  test('malformed and too deep documents are refused, and the fault does not quote them', () => {
    const texts = [
      '',
      'secret',
      '<secret>',
      '<a></secret>',
      '<a>&secret;</a>',
      '<a secret></a>',
      '<a/><secret/>',
      '<a/>secret',
      '<a>'.repeat(5) + '</a>'.repeat(5),
      '<a>\u0000secret</a>',
    ];
    for (const text of texts) {
      const reading = readXml(text, options);
      assert.ok(!reading.ok, text);
      assert.match(reading.fault, /^it is not well-formed XML \(line \d+, column \d+\)$/);
    }
  });
});
