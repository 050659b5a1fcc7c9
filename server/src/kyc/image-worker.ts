import sharp, { type Sharp } from 'sharp';
import {
  type DecodeAnswer,
  type DecodeRequest,
  imagePixelsMax,
  keptQuality,
  keptSideMax,
} from './image-limits.ts';

/**
 * The process in which strangers' images are decoded, started by `image-decoder.ts` for one
 * upload. It has no secrets, no database and no network code, and its memory ends with it.
 */

// libvips would otherwise keep decoded pixels around and start a thread per core and image.
sharp.cache(false);
sharp.concurrency(1);

process.on('message', (request: DecodeRequest) => {
  void answer(request);
});
// The service is gone, or has what it wanted.
process.on('disconnect', () => process.exit(0));

async function answer(request: DecodeRequest): Promise<void> {
  let result: DecodeAnswer;
  try {
    result = await reencode(Buffer.from(request.bytes));
  } catch {
    // The decoder's own words may quote the file, so they go no further.
    result = { isDamaged: true };
  }
  process.send?.(result);
}

/**
 * Decodes row by row and shrinks; only the small result is turned, in a second pass, because
 * turning the original would hold all of its pixels.
 */
async function reencode(bytes: Buffer): Promise<DecodeAnswer> {
  const decoder = sharp(bytes, {
    // Also what libjpeg calls a warning: it paints over missing or broken data.
    failOn: 'warning',
    limitInputPixels: imagePixelsMax,
    sequentialRead: true,
  });
  const { orientation = 1 } = await decoder.metadata();
  const shrunk = await decoder
    .resize({ width: keptSideMax, height: keptSideMax, fit: 'inside', withoutEnlargement: true })
    .flatten({ background: '#ffffff' })
    .toColourspace('srgb')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = shrunk.info;
  const upright = turnUpright(
    sharp(shrunk.data, { raw: { width, height, channels } }),
    orientation,
  );
  const { data, info } = await upright
    .jpeg({ quality: keptQuality })
    .toBuffer({ resolveWithObject: true });
  return { bytes: data, width: info.width, height: info.height };
}

/** The EXIF orientations 2 to 8 as moves (Exif 2.3, tag 274); sharp mirrors before it turns. */
function turnUpright(image: Sharp, orientation: number): Sharp {
  const moves: Record<number, () => Sharp> = {
    2: () => image.flop(),
    3: () => image.rotate(180),
    4: () => image.flip(),
    5: () => image.flip().rotate(90),
    6: () => image.rotate(90),
    7: () => image.flop().rotate(90),
    8: () => image.rotate(270),
  };
  return moves[orientation]?.() ?? image;
}
