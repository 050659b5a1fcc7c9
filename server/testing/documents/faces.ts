import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { facesFolder } from '../../src/kyc/faces/face-packages.ts';
import { drawPage } from './page.ts';

/**
 * Faces for tests: parts of the sample pictures that face-api.js brings in its package. Nothing of them
 * is kept in this repository.
 */

const samples = join(facesFolder, 'node_modules/@vladmandic/face-api/demo');

/** Where one face is, with the sample 1,600 pixels wide. */
const places = {
  anna: { sample: 1, left: 1_100, top: 60, width: 420, height: 440 },
  berta: { sample: 6, left: 80, top: 270, width: 430, height: 460 },
} as const;
export type SampleFace = keyof typeof places;

export function readGroup(): Buffer {
  return readFileSync(join(samples, 'sample1.jpg'));
}

export async function takeFace(name: SampleFace): Promise<Buffer> {
  const { sample, ...part } = places[name];
  const file = join(samples, `sample${sample}.jpg`);
  return sharp(await sharp(file).resize({ width: 1_600 }).toBuffer())
    .extract(part)
    .jpeg()
    .toBuffer();
}

/** A passport without a zone, or a card's front, with a paler and smaller print of the face. */
export async function drawDocumentWith(
  name: SampleFace,
  { width = 300, zone = [] as readonly string[], degrees = 0 } = {},
): Promise<Buffer> {
  const page = sharp(await drawPage({ format: 'TD3', zone, scale: 10 }));
  const portrait = await sharp(await takeFace(name))
    .resize({ width })
    .modulate({ brightness: 1.15, saturation: 0.6 })
    .jpeg({ quality: 70 })
    .toBuffer();
  const printed = await page
    .composite([{ input: portrait, left: 120, top: 180 }])
    .jpeg()
    .toBuffer();
  return sharp(printed).rotate(degrees).jpeg().toBuffer();
}
