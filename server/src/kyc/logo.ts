import { readImageContainer } from './image-container.ts';
import { withImageDecoder } from './image-decoder.ts';
import { imagePixelsMax } from './image-limits.ts';

/** Logos, drawn anew by the confined decoder, so that nothing but their pixels is kept. */

const svgBytesMax = 200_000;
/** The table of accounts takes no more. */
const storedBytesMax = 200_000;

/** A small PNG; undefined where it is no whole PNG, JPEG or SVG picture. */
export async function prepareLogo(bytes: Buffer): Promise<Buffer | undefined> {
  if (!isPlainSvg(bytes)) {
    const container = readImageContainer(bytes);
    if ('refused' in container) return undefined;
    const { width, height, interlacedBytes } = container;
    if (width * height > imagePixelsMax || interlacedBytes > imagePixelsMax) return undefined;
  }
  const answer = await withImageDecoder((decoder) => decoder.decode(bytes, 'logo'));
  if (answer.isDamaged === true || answer.bytes.length > storedBytesMax) return undefined;
  return Buffer.from(answer.bytes);
}

/** Without a document type, which could define entities that grow without end. */
function isPlainSvg(bytes: Buffer): boolean {
  if (bytes.length > svgBytesMax) return false;
  const text = bytes.toString('utf8');
  return (
    /^\uFEFF?\s*(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)*<svg[\s>]/.test(text) &&
    !/<!(?:DOCTYPE|ENTITY)/i.test(text)
  );
}
