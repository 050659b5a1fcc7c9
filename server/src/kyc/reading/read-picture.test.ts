import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { readPicture } from './read-picture.ts';

test('a picture without any ink is not given to the engine', async () => {
  const plain = { width: 320, height: 200, channels: 3, background: '#8899aa' } as const;
  const engine = (): Promise<string> => assert.fail('the engine was asked');
  for (const bytes of [
    await sharp({ create: plain }).png().toBuffer(),
    await sharp({ create: plain }).jpeg().toBuffer(),
  ]) {
    const nothing = { zone: undefined, agreeing: 0, tried: 0 };
    assert.deepEqual(await readPicture(bytes, engine), nothing);
  }
});
