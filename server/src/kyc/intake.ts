import type { EnvironmentName } from '../core/access.ts';
import { AppError, type Fault, type FaultCode, throwFaults } from '../core/errors.ts';
import { readImageContainer } from './image-container.ts';
import { type ImageDecoder, withImageDecoder } from './image-decoder.ts';
import {
  imageCharactersMax,
  imagePixelsMax,
  imageSideMax,
  interlacedBytesMax,
} from './image-limits.ts';
import { type UploadGate, uploadGates } from './upload-gate.ts';

/** The three images of one upload. */
export const imageTypes = ['face', 'document-front', 'document-back'] as const;
export type ImageType = (typeof imageTypes)[number];

/** One item of an upload; `pointer` (RFC 6901) is its place in the body. */
export type UploadItem = { type: ImageType; pointer: string; bytes: Buffer };

/** An image ready to be stored: JPEG, upright, without metadata. */
export type PreparedImage = { type: ImageType; bytes: Buffer; width: number; height: number };

/**
 * Checks the form of an upload and decodes its Base64: exactly three items, one of each type.
 * Throws `invalid_request` with every fault and its pointer, or `body_too_large` when an image is
 * larger than 10 MiB of Base64. Members other than `type` and `content` are ignored.
 */
export function readUpload(items: unknown): UploadItem[] {
  if (!Array.isArray(items)) {
    throwFaults([
      { pointer: '', code: 'invalid_type', detail: 'the body must be an array of three images' },
    ]);
    return [];
  }
  const faults: Fault[] = [];
  if (items.length !== imageTypes.length) {
    const detail = `the body must have exactly three images, one of each type, not ${items.length}`;
    faults.push({ pointer: '', code: 'invalid_length', detail });
  }
  const seen = new Set<ImageType>();
  const uploads: UploadItem[] = [];
  for (const [index, item] of items.slice(0, imageTypes.length).entries()) {
    const upload = readItem(item, { pointer: `/${index}`, seen, faults });
    if (upload !== undefined) uploads.push(upload);
  }
  const tooLarge = faults.filter((fault) => fault.code === 'too_large');
  if (tooLarge.length > 0) {
    throw new AppError('body_too_large', 'an image must have at most 10 MiB of Base64', { faults });
  }
  throwFaults(faults);
  return uploads;
}

type ItemContext = { pointer: string; seen: Set<ImageType>; faults: Fault[] };

function readItem(item: unknown, context: ItemContext): UploadItem | undefined {
  const { pointer, faults } = context;
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    faults.push({ pointer, code: 'invalid_type', detail: 'an image must be an object' });
    return undefined;
  }
  const fields = item as { type?: unknown; content?: unknown };
  const type = readType(fields.type, context);
  const bytes = readContent(fields.content, context);
  return type === undefined || bytes === undefined ? undefined : { type, pointer, bytes };
}

function readType(value: unknown, { pointer, seen, faults }: ItemContext): ImageType | undefined {
  const type = imageTypes.find((known) => known === value);
  const at = `${pointer}/type`;
  if (type === undefined) {
    const detail = `type must be one of ${imageTypes.join(', ')}`;
    faults.push({ pointer: at, code: value === undefined ? 'required' : 'invalid_value', detail });
    return undefined;
  }
  if (seen.has(type)) {
    faults.push({
      pointer: at,
      code: 'duplicate',
      detail: `there must be only one image of type ${type}`,
    });
    return undefined;
  }
  seen.add(type);
  return type;
}

function readContent(value: unknown, { pointer, faults }: ItemContext): Buffer | undefined {
  const fault = (code: FaultCode, detail: string): undefined => {
    faults.push({ pointer: `${pointer}/content`, code, detail });
    return undefined;
  };
  if (value === undefined) return fault('required', 'content is required');
  if (typeof value !== 'string') return fault('invalid_type', 'content must be of type string');
  if (value === '') return fault('invalid_base64', 'content must not be empty');
  if (value.length > imageCharactersMax) {
    return fault('too_large', 'content must have at most 10 MiB (10,485,760 characters)');
  }
  const bytes = decodeBase64(value);
  if (bytes !== undefined) return bytes;
  const detail = value.startsWith('data:')
    ? 'content must be plain Base64, without the prefix of a data URL'
    : 'content must be Base64 (RFC 4648 section 4), padded, without white space';
  return fault('invalid_base64', detail);
}

/** A repetition over all of a text would keep a place to go back to for each of its millions of characters. */
const notBase64 = /[^A-Za-z0-9+/]/;

/** Strict RFC 4648 section 4, canonical (section 3.5): one byte string has one spelling. */
function decodeBase64(text: string): Buffer | undefined {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const digits = text.slice(0, text.length - padding);
  if (text.length % 4 !== 0 || digits === '' || notBase64.test(digits)) return undefined;
  const lastGroup = text.slice(-4);
  if (Buffer.from(lastGroup, 'base64').toString('base64') !== lastGroup) return undefined;
  return Buffer.from(text, 'base64');
}

/**
 * Turns every item into a clean image: the bytes decide the format, the whole image is decoded, turned
 * upright and encoded as JPEG with at most 3,000 pixels a side. Only pixels are kept. Throws
 * `invalid_request` naming each item that is not a complete still PNG or JPEG of at most 10,000
 * pixels a side and 40 megapixels, and `unavailable` when too many uploads wait.
 */
export async function prepareImages(
  items: UploadItem[],
  where: EnvironmentName | UploadGate = 'staging',
): Promise<PreparedImage[]> {
  const gate = typeof where === 'string' ? uploadGates[where] : where;
  return gate.run(() => withImageDecoder((decoder) => prepareAll(items, decoder)));
}

async function prepareAll(items: UploadItem[], decoder: ImageDecoder): Promise<PreparedImage[]> {
  const faults: Fault[] = [];
  const images: PreparedImage[] = [];
  // One after the other, so that peak memory is that of the largest image.
  for (const item of items) {
    const result = await prepareImage(item, decoder);
    if ('bytes' in result) images.push(result);
    else faults.push(result);
  }
  throwFaults(faults);
  return images;
}

async function prepareImage(
  item: UploadItem,
  decoder: ImageDecoder,
): Promise<PreparedImage | Fault> {
  const refuseItem = (code: FaultCode, reason: string): Fault => {
    const detail = `the ${item.type} image cannot be used: ${reason}`;
    return { pointer: `${item.pointer}/content`, code, detail };
  };
  const container = readImageContainer(item.bytes);
  if ('refused' in container) return refuseItem(container.refused.code, container.refused.detail);
  const { width, height } = container;
  if (width === 0 || height === 0) return refuseItem('damaged_image', 'it has no pixels');
  if (width > imageSideMax || height > imageSideMax || width * height > imagePixelsMax) {
    return refuseItem(
      'image_too_large',
      `it has ${width} x ${height} pixels; at most 10,000 a side and 40 megapixels are allowed`,
    );
  }
  if (container.interlacedBytes > interlacedBytesMax) {
    return refuseItem('image_too_large', 'it is interlaced and takes too much memory to decode');
  }
  const answer = await decoder.decode(container.bytes);
  if (answer.isDamaged === true) return refuseItem('damaged_image', 'it is incomplete or damaged');
  const bytes = Buffer.from(answer.bytes);
  return { type: item.type, bytes, width: answer.width, height: answer.height };
}
