import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPlainSvg, prepareLogo } from './logo.ts';

const isPlain = (text: string): boolean => isPlainSvg(Buffer.from(text));
const square =
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0h9v9"/></svg>';

test('a picture may follow a declaration, comments and space', () => {
  for (const prolog of [
    '',
    '\uFEFF',
    ' \n',
    '<?xml version="1.0"?>\n',
    '<!---->',
    '<!-- a --> <!-- b -->\n',
  ]) {
    assert.ok(isPlain(`${prolog}${square}`), prolog);
  }
  for (const text of ['<!-- open', '<?xml ', '<!-->', '<html>', `x${square}`, '<svgs/>', '']) {
    assert.ok(!isPlain(text), text);
  }
});

/** Forty of them would take two days with a pattern that tries every division. */
test('many comments take time in proportion to their length', () => {
  for (const end of ['x', '', '<!--', '<svg>']) {
    assert.equal(isPlain(`${'<!---->'.repeat(20_000)}${end}`), end === '<svg>');
  }
  assert.ok(!isPlain(' '.repeat(200_000)));
  assert.ok(!isPlain('<!--'.repeat(50_000)));
});

test('entities, filters and many repetitions are refused', () => {
  const within = (content: string): string => square.replace('<path', `${content}<path`);
  assert.ok(isPlain(within('<use href="#a"/>'.repeat(20))));
  for (const content of [
    '<use href="#a"/>'.repeat(21),
    '<svg:use href="#a"/>'.repeat(21),
    '<filter id="f"><feGaussianBlur stdDeviation="9"/></filter>',
    '<!ENTITY a "b">',
  ]) {
    assert.ok(!isPlain(within(content)), content.slice(0, 30));
  }
});

test('a logo becomes a small PNG', async () => {
  const logo = await prepareLogo(Buffer.from(square), 'staging');
  assert.equal(logo?.subarray(1, 4).toString(), 'PNG');
  assert.equal(await prepareLogo(Buffer.from('<svg><path d="M0'), 'staging'), undefined);
});
