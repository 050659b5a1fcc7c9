import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from '../../core/ids.ts';
import { chooseEncoding, decodeReference, encodeReference } from './references.ts';

describe('the reference of a payout at a rail', () => {
  it('is the identifier whole, in the form that the rail carries', () => {
    const digits = { lengthMax: 35, charset: /^[0-9A-Za-z]+$/ };
    const dashed = { lengthMax: 36, charset: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/ };
    assert.equal(chooseEncoding('one', digits), 'digits');
    assert.equal(chooseEncoding('two', dashed), 'dashed');
    const id = newId();
    for (const encoding of ['digits', 'dashed'] as const) {
      assert.equal(decodeReference(encodeReference(encoding, id)), id);
    }
  });

  it('is refused at boot where it does not fit, never cut', () => {
    assert.throws(
      () => chooseEncoding('ach', { lengthMax: 15, charset: /^[0-9A-Z]+$/ }),
      /rail ach: .*must fit 15 characters/,
    );
    assert.throws(() => chooseEncoding('digits', { lengthMax: 99, charset: /^[0-9]+$/ }));
  });

  it('is not found in other texts', () => {
    for (const text of ['', 'NOTPROVIDED', 'x'.repeat(32), '0'.repeat(31)]) {
      assert.equal(decodeReference(text), undefined);
    }
  });
});
