import type { EnvironmentName } from '../core/access.ts';
import { readImageContainer } from './image-container.ts';
import { withImageDecoder } from './image-decoder.ts';
import { imagePixelsMax } from './image-limits.ts';
import { uploadGates } from './upload-gate.ts';

/** Logos, drawn anew by the confined decoder, so that nothing but their pixels is kept. */

const svgBytesMax = 200_000;
/** Each `use` may repeat what the others draw, so that their number is an exponent of the work. */
const svgUsesMax = 20;
/** The table of accounts takes no more. */
const storedBytesMax = 200_000;

/**
 * A small PNG; undefined where it is no whole PNG, JPEG or SVG picture.
 *
 * @throws AppError unavailable when too many uploads wait.
 */
export async function prepareLogo(
  bytes: Buffer,
  environmentName: EnvironmentName,
): Promise<Buffer | undefined> {
  if (!isPlainSvg(bytes)) {
    const container = readImageContainer(bytes);
    if ('refused' in container) return undefined;
    const { width, height, interlacedBytes } = container;
    if (width * height > imagePixelsMax || interlacedBytes > imagePixelsMax) return undefined;
  }
  const answer = await uploadGates[environmentName].run(() =>
    withImageDecoder((decoder) => decoder.decode(bytes, 'logo')),
  );
  if (answer.isDamaged === true || answer.bytes.length > storedBytesMax) return undefined;
  return Buffer.from(answer.bytes);
}

/**
 * Without a document type, which could define entities that grow without end, without filters, whose work
 * grows with their radius, and with few repetitions.
 */
export function isPlainSvg(bytes: Buffer): boolean {
  if (bytes.length > svgBytesMax) return false;
  const text = bytes.toString('utf8');
  if (!/^<svg[\s>]/.test(text.slice(skipProlog(text)))) return false;
  return (
    !/<!(?:DOCTYPE|ENTITY)/i.test(text) &&
    !/<(?:[\w-]+:)?filter[\s/>]/i.test(text) &&
    text.split(/<(?:[\w-]+:)?use[\s/>]/i).length - 1 <= svgUsesMax
  );
}

/** Where the first element begins, after a declaration and comments; by steps, so in linear time. */
function skipProlog(text: string): number {
  const skipSpace = (from: number): number =>
    from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0);
  const skipUntil = (end: string, from: number): number => {
    const found = text.indexOf(end, from);
    return found === -1 ? text.length : skipSpace(found + end.length);
  };
  let at = skipSpace(text.startsWith('\uFEFF') ? 1 : 0);
  if (text.startsWith('<?xml', at)) at = skipUntil('>', at);
  while (text.startsWith('<!--', at)) at = skipUntil('-->', at + 4);
  return at;
}
