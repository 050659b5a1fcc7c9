import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeCell } from './csv.ts';
import { JsonNumber } from './exact-json.ts';

test('no cell begins like a formula', () => {
  for (const text of ['=1+1', '+1+1', '-1+1', '@SUM(1)', '\t=1', '\r=1', '\n=1', '\uff1d1', '+5']) {
    const cell = writeCell(text);
    assert.match(cell, /^"'/, JSON.stringify(text));
    assert.equal(cell.at(-1), '"');
  }
});

test('plain numbers and texts are unchanged', () => {
  assert.equal(writeCell(new JsonNumber('-12.50')), '-12.50');
  assert.equal(writeCell(7), '7');
  assert.equal(writeCell('-12.5'), '-12.5');
  assert.equal(writeCell('payroll-11'), 'payroll-11');
  assert.equal(writeCell(undefined), '');
});

test('separators, quotes and line ends are quoted', () => {
  assert.equal(writeCell('a,b'), '"a,b"');
  assert.equal(writeCell('a;=1'), '"a;=1"');
  assert.equal(writeCell('a"\n=1'), '"a""\n=1"');
  assert.equal(writeCell(' a'), '" a"');
});
