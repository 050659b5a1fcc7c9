import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import sharp, { type Sharp } from 'sharp';

/** The hints that the page computes, on drawn pictures of a document. */

type Judge = (
  pixels: { data: Uint8Array; width: number; height: number },
  type: string,
) => string[];
const { judge } = (await import(join(import.meta.dirname, 'page', 'quality.js'))) as {
  judge: Judge;
};

const width = 480;
const height = 320;

/** A document with lines of text on a dark table. `inset`: its distance to the border, in pixels. */
function drawDocument({ inset = 30, paper = '#d8d2c4', glare = false } = {}) {
  const lines = Array.from({ length: 14 }, (_none, row) => {
    const y = inset + 24 + row * 16;
    return `<rect x="${inset + 20}" y="${y}" width="${200 - (row % 4) * 30}" height="6" fill="#222"/>
      <rect x="${inset + 250}" y="${y}" width="${width - 2 * inset - 280}" height="5" fill="#333"/>`;
  });
  const shine = glare ? '<ellipse cx="240" cy="160" rx="70" ry="50" fill="#fff"/>' : '';
  return Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <rect width="${width}" height="${height}" fill="#3a3f45"/>
    <rect x="${inset}" y="${inset}" width="${width - 2 * inset}" height="${height - 2 * inset}" fill="${paper}"/>
    ${lines.join('')}${shine}</svg>`);
}

async function judgePicture(svg: Buffer, change: (image: Sharp) => Sharp = (one) => one) {
  const drawn = sharp(await sharp(svg).png().toBuffer());
  const { data, info } = await change(drawn)
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return judge({ data, width: info.width, height: info.height }, 'document-front');
}

test('a good picture gets no hint, and each fault its own', async () => {
  assert.deepEqual(await judgePicture(drawDocument()), []);
  assert.deepEqual(await judgePicture(drawDocument(), (image) => image.linear(0.2)), ['dark']);
  assert.deepEqual(await judgePicture(drawDocument(), (image) => image.blur(5)), ['blurred']);
  assert.deepEqual(await judgePicture(drawDocument({ glare: true })), ['glare']);
  const cut = await judgePicture(drawDocument(), (image) =>
    image.extract({ left: 120, top: 80, width: 240, height: 160 }).resize(width, height),
  );
  assert.ok(cut.includes('cut'), cut.join());
  const face = await sharp(drawDocument()).ensureAlpha().raw().toBuffer();
  assert.deepEqual(judge({ data: face, width, height }, 'face'), []);
});
