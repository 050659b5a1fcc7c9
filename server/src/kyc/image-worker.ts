import sharp, { type Sharp } from 'sharp';
import {
  type DecodeAnswer,
  type DecodeRequest,
  imagePixelsMax,
  logoSize,
  storedQuality,
  storedSideMax,
} from './image-limits.ts';

/**
 * The process that decodes the images of one upload, started by `image-decoder.ts`. It has no secrets,
 * no database and no network code, and its memory is freed with it.
 */

// By default libvips caches decoded pixels and starts a thread per core and image.
sharp.cache(false);
sharp.concurrency(1);

process.on('message', (request: DecodeRequest) => {
  void answer(request);
});
// The service has ended, or is done with this upload.
process.on('disconnect', () => process.exit(0));

async function answer(request: DecodeRequest): Promise<void> {
  let result: DecodeAnswer;
  try {
    const bytes = Buffer.from(request.bytes);
    result = await (request.purpose === 'logo' ? drawLogo(bytes) : reencode(bytes));
  } catch {
    // The decoder's message may quote the file, so it is dropped.
    result = { isDamaged: true };
  }
  process.send?.(result);
}

/**
 * Decodes row by row and shrinks. Only the small result is rotated, in a second pass, because rotating
 * the original would hold all of its pixels in memory.
 */
async function reencode(bytes: Buffer): Promise<DecodeAnswer> {
  const decoder = sharp(bytes, {
    // libjpeg reports missing or broken data, which it paints over, as a warning.
    failOn: 'warning',
    limitInputPixels: imagePixelsMax,
    sequentialRead: true,
  });
  const { orientation = 1 } = await decoder.metadata();
  const shrunk = await decoder
    .resize({
      width: storedSideMax,
      height: storedSideMax,
      fit: 'inside',
      withoutEnlargement: true,
    })
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
    .jpeg({ quality: storedQuality })
    .toBuffer({ resolveWithObject: true });
  return { bytes: data, width: info.width, height: info.height };
}

async function drawLogo(bytes: Buffer): Promise<DecodeAnswer> {
  const { data, info } = await sharp(bytes, { limitInputPixels: imagePixelsMax })
    .autoOrient()
    .resize({ ...logoSize, fit: 'inside', withoutEnlargement: true })
    .png()
    .toBuffer({ resolveWithObject: true });
  return { bytes: data, width: info.width, height: info.height };
}

/** The EXIF orientations 2 to 8 (Exif 2.3, tag 274); sharp mirrors before it rotates. */
function turnUpright(image: Sharp, orientation: number): Sharp {
  const transforms: Record<number, () => Sharp> = {
    2: () => image.flop(),
    3: () => image.rotate(180),
    4: () => image.flip(),
    5: () => image.flip().rotate(90),
    6: () => image.rotate(90),
    7: () => image.flop().rotate(90),
    8: () => image.rotate(270),
  };
  return transforms[orientation]?.() ?? image;
}
