import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contrast, makeTones } from './brand.ts';

test('every color becomes tones that are readable, and a readable one stays as it is', () => {
  for (let red = 0; red < 256; red += 51) {
    for (let green = 0; green < 256; green += 51) {
      for (let blue = 0; blue < 256; blue += 51) {
        const color = `#${[red, green, blue].map((part) => part.toString(16).padStart(2, '0')).join('')}`;
        const tones = makeTones(color);
        assert.ok(tones !== undefined, color);
        assert.ok(
          contrast(tones.light, '#f4f5f7') >= 4.5 && contrast(tones.light, '#ffffff') >= 4.5,
        );
        assert.ok(contrast(tones.dark, '#1a212a') >= 4.5 && contrast(tones.dark, '#10151b') >= 4.5);
        assert.ok(contrast(tones.fill, tones.on_fill) >= 4.5, color);
      }
    }
  }
  assert.equal(makeTones('#0b5cad')?.light, '#0b5cad');
  assert.equal(makeTones(''), undefined);
  assert.equal(makeTones('red'), undefined);
  assert.equal(contrast('#000000', '#ffffff'), 21);
});
