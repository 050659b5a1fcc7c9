import sharp, { type Sharp } from 'sharp';

/** Pictures of documents in grey, and what makes their text readable. */

/** One byte a pixel, row by row. */
export type Picture = { readonly data: Buffer; readonly width: number; readonly height: number };

const raw = ({ width, height }: Picture) => ({ raw: { width, height, channels: 1 as const } });
const fromPicture = (picture: Picture) => sharp(picture.data, raw(picture)).toColourspace('b-w');

async function toPicture(image: Sharp): Promise<Picture> {
  const { data, info } = await image
    .toColourspace('b-w')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

const sideMax = 2_400;

export function decodePicture(bytes: Uint8Array): Promise<Picture> {
  const size = {
    width: sideMax,
    height: sideMax,
    fit: 'inside',
    withoutEnlargement: true,
  } as const;
  return toPicture(sharp(bytes, { failOn: 'error' }).greyscale().resize(size));
}

export function rotate(picture: Picture, degrees: number): Promise<Picture> {
  return toPicture(fromPicture(picture).rotate(degrees, { background: '#808080' }));
}

/** The part below `from`, a share of the height, at a width in pixels. */
export function takeLower(picture: Picture, from: number, width: number): Promise<Picture> {
  const top = Math.min(picture.height - 1, Math.round(picture.height * from));
  const part = { left: 0, top, width: picture.width, height: picture.height - top };
  return toPicture(fromPicture(picture).extract(part).resize({ width, kernel: 'lanczos3' }));
}

export function stretchContrast(picture: Picture): Promise<Picture> {
  return toPicture(fromPicture(picture).normalise());
}

export function sharpen(picture: Picture): Promise<Picture> {
  return toPicture(fromPicture(picture).sharpen({ sigma: 2, m1: 1, m2: 3 }));
}

export function soften(picture: Picture): Promise<Picture> {
  return toPicture(fromPicture(picture).blur(1.2));
}

export function encodePicture(picture: Picture): Promise<Buffer> {
  return fromPicture(picture)
    .png({ compressionLevel: 0 })
    .withMetadata({ density: 300 })
    .toBuffer();
}

/** Whether all pixels are equal. */
export function isBlank({ data }: Picture): boolean {
  return data.every((value) => value === data[0]);
}

/** How much darker than its surroundings ink is. */
const inkShare = 0.16;

/**
 * Black and white by the mean around each pixel (Bradley and Roth, 2007), so that a shadow over half of
 * the page hides nothing.
 */
export function binarize(picture: Picture): Picture {
  const { data, width, height } = picture;
  const sums = sumAreas(picture);
  const half = Math.max(8, Math.round(width / 64));
  const result = Buffer.alloc(data.length, 255);
  for (let y = 0; y < height; y += 1) {
    const top = Math.max(0, y - half);
    const bottom = Math.min(height, y + half + 1);
    const above = top * (width + 1);
    const below = bottom * (width + 1);
    for (let x = 0; x < width; x += 1) {
      // Millions of pixels: nothing is allocated for one.
      const left = Math.max(0, x - half);
      const right = Math.min(width, x + half + 1);
      const outer = (sums[below + right] ?? 0) - (sums[above + right] ?? 0);
      const sum = outer - (sums[below + left] ?? 0) + (sums[above + left] ?? 0);
      const mean = sum / ((bottom - top) * (right - left));
      const value = data[y * width + x] ?? 0;
      if (value < mean * (1 - inkShare)) result[y * width + x] = 0;
    }
  }
  return { data: result, width, height };
}

/** Sums of all pixels above and to the left; at most 255 * 2,400 * 2,400, which 32 bits hold. */
function sumAreas({ data, width, height }: Picture): Uint32Array {
  const sums = new Uint32Array((width + 1) * (height + 1));
  for (let y = 0; y < height; y += 1) {
    let row = 0;
    for (let x = 0; x < width; x += 1) {
      row += data[y * width + x] ?? 0;
      sums[(y + 1) * (width + 1) + x + 1] = (sums[y * (width + 1) + x + 1] ?? 0) + row;
    }
  }
  return sums;
}

const tiltMaxDegrees = 12;
const tiltStepDegrees = 0.5;

/**
 * By how many degrees, clockwise, the lines of text fall: the angle at which the rows of black pixels
 * are most distinct.
 */
export function findTilt(black: Picture): number {
  const { data, width, height } = black;
  const points: number[] = [];
  for (let y = 0; y < height; y += 2) {
    for (let x = 0; x < width; x += 2) {
      if (data[y * width + x] === 0) points.push(x - width / 2, y);
    }
  }
  let best = { degrees: 0, score: 0 };
  for (let degrees = -tiltMaxDegrees; degrees <= tiltMaxDegrees; degrees += tiltStepDegrees) {
    const score = scoreTilt(points, Math.tan((degrees * Math.PI) / 180), height);
    if (score > best.score) best = { degrees, score };
  }
  return best.degrees;
}

function scoreTilt(points: readonly number[], slope: number, height: number): number {
  const rows = new Float64Array(height * 2);
  for (let index = 0; index < points.length; index += 2) {
    const row = Math.round((points[index + 1] ?? 0) - (points[index] ?? 0) * slope + height / 2);
    rows[row] = (rows[row] ?? 0) + 1;
  }
  let score = 0;
  for (let row = 1; row < rows.length; row += 1) {
    score += ((rows[row] ?? 0) - (rows[row - 1] ?? 0)) ** 2;
  }
  return score;
}
