import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalizePersonName } from './person-name.ts';

test('one name is the same in every way of writing it', () => {
  const forms = [
    'Ada Strauß',
    ' ada  STRAUSS ',
    'A\u200Bda Strau\u00ADß',
    'Ada\u00A0Strauß',
    '\u202EAda Strauß\u2060',
    'Ａｄａ Strauss',
    'Ada\u3164 Strauß',
    '\uFEFFAda Strauß\u{E0041}',
  ];
  for (const form of forms) assert.equal(normalizePersonName(form), 'ada strauss', form);
  assert.equal(normalizePersonName('Jose\u0301'), normalizePersonName('José'));
});

test('other names stay others, and a name of nothing visible is empty', () => {
  assert.notEqual(normalizePersonName('Ada'), normalizePersonName('Ade'));
  assert.notEqual(normalizePersonName('José'), normalizePersonName('Jose'));
  assert.equal(normalizePersonName(' \u200B\u3164\u00AD '), '');
});
