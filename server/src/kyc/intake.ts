import type { EnvironmentName } from '../core/access.ts';
import { AppError, type Fault, throwFaults } from '../core/errors.ts';
import { readImageContainer } from './image-container.ts';
import { type ImageDecoder, withImageDecoder } from './image-decoder.ts';
import {
  imageCharactersMax,
  imagePixelsMax,
  imageSideMax,
  interlacedBytesMax,
} from './image-limits.ts';
import { createUploadGate, type UploadGate } from './upload-gate.ts';

/** The three pictures of one upload (specification 2.8). */
export const imageTypes = ['face', 'document-front', 'document-back'] as const;
export type ImageType = (typeof imageTypes)[number];

/** One item of an upload: `pointer` (RFC 6901) is its place in the body. */
export type UploadItem = { type: ImageType; pointer: string; bytes: Buffer };

/** One picture ready to be kept: JPEG, upright, without any metadata. */
export type PreparedImage = { type: ImageType; bytes: Buffer; width: number; height: number };

/**
 * One for each environment: a crowd in staging stops nothing in live. As many as the server
 * receives at once find a place (`uploadLimits`).
 */
const limits = { runningMax: 2, waitingMax: 4 };
const gates: Readonly<Record<EnvironmentName, UploadGate>> = {
  staging: createUploadGate(limits),
  live: createUploadGate(limits),
};

/**
 * Checks the form of an upload and decodes its Base64: exactly three items, one of each type.
 * Throws `invalid_request` with every fault and its pointer, or `body_too_large` when an image is
 * past 10 MiB of Base64. Members other than `type` and `content` are ignored.
 */
export function readUpload(items: unknown): UploadItem[] {
  if (!Array.isArray(items)) {
    throwFaults([
      { pointer: '', code: 'invalid_type', detail: 'The body must be an array of three images.' },
    ]);
    return [];
  }
  const faults: Fault[] = [];
  if (items.length !== imageTypes.length) {
    const detail = `Exactly three images are needed, one of each type; there are ${items.length}.`;
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
    throw new AppError('body_too_large', 'An image is larger than 10 MiB of Base64.', { faults });
  }
  throwFaults(faults);
  return uploads;
}

type ItemContext = { pointer: string; seen: Set<ImageType>; faults: Fault[] };

function readItem(item: unknown, context: ItemContext): UploadItem | undefined {
  const { pointer, faults } = context;
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    faults.push({ pointer, code: 'invalid_type', detail: 'An image must be an object.' });
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
    const detail = `The type must be one of ${imageTypes.join(', ')}.`;
    faults.push({ pointer: at, code: value === undefined ? 'required' : 'invalid_value', detail });
    return undefined;
  }
  if (seen.has(type)) {
    faults.push({ pointer: at, code: 'duplicate', detail: `There is more than one ${type}.` });
    return undefined;
  }
  seen.add(type);
  return type;
}

function readContent(value: unknown, { pointer, faults }: ItemContext): Buffer | undefined {
  const fault = (code: string, detail: string): undefined => {
    faults.push({ pointer: `${pointer}/content`, code, detail });
    return undefined;
  };
  if (value === undefined) return fault('required', 'The content is missing.');
  if (typeof value !== 'string') return fault('invalid_type', 'The content must be a string.');
  if (value === '') return fault('invalid_base64', 'The content is empty.');
  if (value.length > imageCharactersMax) {
    return fault('too_large', 'The content is larger than 10 MiB (10,485,760 characters).');
  }
  const bytes = decodeBase64(value);
  if (bytes !== undefined) return bytes;
  const detail = value.startsWith('data:')
    ? 'The content must be plain Base64, without the prefix of a data URL.'
    : 'The content must be Base64 (RFC 4648 section 4), padded, without white space.';
  return fault('invalid_base64', detail);
}

const base64Text = /^[A-Za-z0-9+/]+={0,2}$/;

/** Strict RFC 4648 section 4, canonical (section 3.5): one byte string has one spelling. */
function decodeBase64(text: string): Buffer | undefined {
  if (text.length % 4 !== 0 || !base64Text.test(text)) return undefined;
  const lastGroup = text.slice(-4);
  if (Buffer.from(lastGroup, 'base64').toString('base64') !== lastGroup) return undefined;
  return Buffer.from(text, 'base64');
}

/**
 * Turns every item into a clean picture: the format told by its bytes, the whole image decoded,
 * turned upright, re-encoded as JPEG with at most 3,000 pixels a side. Nothing but pixels
 * survives. Throws `invalid_request` naming each item that is no whole still PNG or JPEG of at
 * most 10,000 pixels a side and 40 megapixels, and `unavailable` when too many uploads wait.
 */
export async function prepareImages(
  items: UploadItem[],
  where: EnvironmentName | UploadGate = 'staging',
): Promise<PreparedImage[]> {
  const gate = typeof where === 'string' ? gates[where] : where;
  return gate.run(() => withImageDecoder((decoder) => prepareAll(items, decoder)));
}

async function prepareAll(items: UploadItem[], decoder: ImageDecoder): Promise<PreparedImage[]> {
  const faults: Fault[] = [];
  const images: PreparedImage[] = [];
  // One after the other: the peak is that of the largest image, not of their sum.
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
  const refuseItem = (code: string, reason: string): Fault => {
    const detail = `The ${item.type} image cannot be used: ${reason}.`;
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
