import { crc32 } from 'node:zlib';
import type { FaultCode } from '../core/errors.ts';

/**
 * The container of an uploaded image, checked before a decoder sees it: the format by its signature,
 * the size in pixels, and that the file is exactly one complete still image. PNG: ISO/IEC 15948;
 * JPEG: ITU-T T.81 annex B.
 */
export type ImageContainer = {
  format: 'png' | 'jpeg';
  width: number;
  height: number;
  /** Decoded bytes of an interlaced image, which must be in memory as a whole; 0 for others. */
  interlacedBytes: number;
  /** The input of the decoder; a PNG without its text and time chunks. */
  bytes: Buffer;
};

/** Why a file is rejected; the text repeats nothing of its content. */
export type ImageRefusal = { refused: { code: FaultCode; detail: string } };

export type ContainerResult = ImageContainer | ImageRefusal;

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Photographs have about ten scans; each one costs the decoder a pass over all pixels. */
const jpegScansMax = 100;

/** The chunks that affect pixels; others are removed, because a text chunk may inflate a thousandfold. */
const pngChunksKept = new Set([
  'IHDR',
  'PLTE',
  'IDAT',
  'IEND',
  'tRNS',
  'gAMA',
  'cHRM',
  'sRGB',
  'iCCP',
  'eXIf',
]);
const pngProfileBytesMax = 65_536;

export function refuse(code: FaultCode, detail: string): ImageRefusal {
  return { refused: { code, detail } };
}

/** Reads the container in linear time. Never throws. */
export function readImageContainer(bytes: Buffer): ContainerResult {
  if (bytes.subarray(0, 8).equals(pngSignature)) return readPng(bytes);
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return readJpeg(bytes);
  return refuse('unsupported_image', 'the content is neither a PNG nor a JPEG image');
}

type PngChunk = { type: string; length: number; end: number };

function readPngChunk(bytes: Buffer, start: number): PngChunk | undefined {
  if (start + 12 > bytes.length) return undefined;
  const length = bytes.readUInt32BE(start);
  const end = start + 12 + length;
  if (end > bytes.length) return undefined;
  const sum = crc32(bytes.subarray(start + 4, end - 4));
  if (sum !== bytes.readUInt32BE(end - 4)) return undefined;
  return { type: bytes.toString('latin1', start + 4, start + 8), length, end };
}

function readPng(bytes: Buffer): ContainerResult {
  const damaged = refuse('damaged_image', 'the PNG image is incomplete or damaged');
  const first = readPngChunk(bytes, 8);
  if (first?.type !== 'IHDR' || first.length !== 13) return damaged;
  const kept: Buffer[] = [pngSignature];
  let keptBytes = pngSignature.length;
  let position = 8;
  let hasData = false;
  for (;;) {
    const chunk = readPngChunk(bytes, position);
    if (chunk === undefined) return damaged;
    if (chunk.type === 'acTL') return refuse('animated_image', 'the image is animated');
    if (chunk.type === 'IDAT') hasData = true;
    const oversizedProfile = chunk.type === 'iCCP' && chunk.length > pngProfileBytesMax;
    if (pngChunksKept.has(chunk.type) && !oversizedProfile) {
      kept.push(bytes.subarray(position, chunk.end));
      keptBytes += chunk.end - position;
    }
    position = chunk.end;
    if (chunk.type === 'IEND') break;
  }
  if (!hasData) return damaged;
  if (!isPadding(bytes.subarray(position))) {
    return refuse('trailing_data', 'data follows the end of the PNG image');
  }
  return {
    format: 'png',
    width: bytes.readUInt32BE(16),
    height: bytes.readUInt32BE(20),
    interlacedBytes: bytes[28] === 0 ? 0 : countPngBytes(bytes),
    bytes: keptBytes === bytes.length ? bytes : Buffer.concat(kept, keptBytes),
  };
}

/** Decoders expand a palette to four channels, and samples below eight bits to eight. */
function countPngBytes(bytes: Buffer): number {
  const pixels = bytes.readUInt32BE(16) * bytes.readUInt32BE(20);
  const channels = { 0: 1, 2: 3, 4: 2 }[bytes[25] ?? 0] ?? 4;
  return pixels * channels * (bytes[24] === 16 ? 2 : 1);
}

function readJpeg(bytes: Buffer): ContainerResult {
  const damaged = refuse('damaged_image', 'the JPEG image is incomplete or damaged');
  let position = 2;
  let scans = 0;
  let size: { width: number; height: number } | undefined;
  for (;;) {
    const marker = findMarker(bytes, position);
    if (marker === undefined) return damaged;
    position = marker.end;
    if (marker.code === 0xd9) break;
    if (isStandalone(marker.code)) continue;
    if (position + 2 > bytes.length) return damaged;
    const length = bytes.readUInt16BE(position);
    if (length < 2 || position + length > bytes.length) return damaged;
    if (isFrameHeader(marker.code)) {
      // A second frame header means a hierarchical JPEG, which no camera writes.
      if (size !== undefined || length < 8) return damaged;
      size = { height: bytes.readUInt16BE(position + 3), width: bytes.readUInt16BE(position + 5) };
    }
    if (marker.code === 0xda) {
      scans += 1;
      if (scans > jpegScansMax) return refuse('damaged_image', 'the JPEG image has too many scans');
    }
    position += length;
  }
  if (size === undefined || scans === 0) return damaged;
  if (!isCameraTrailer(bytes.subarray(position))) {
    return refuse('trailing_data', 'data follows the end of the JPEG image');
  }
  return { format: 'jpeg', ...size, interlacedBytes: 0, bytes: bytes.subarray(0, position) };
}

/** The next marker at or after a position; stuffed zeros and fill bytes of scan data are skipped. */
function findMarker(bytes: Buffer, start: number): { code: number; end: number } | undefined {
  let position = bytes.indexOf(0xff, start);
  while (position !== -1 && position + 1 < bytes.length) {
    const code = bytes[position + 1];
    if (code !== undefined && code !== 0x00 && code !== 0xff) return { code, end: position + 2 };
    position = bytes.indexOf(0xff, position + 1);
  }
  return undefined;
}

function isStandalone(code: number): boolean {
  return code === 0x01 || (code >= 0xd0 && code <= 0xd8);
}

function isFrameHeader(code: number): boolean {
  return code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc;
}

function isPadding(rest: Buffer): boolean {
  return rest.every((byte) => byte === 0x00 || byte === 0xff);
}

/**
 * Phones append a gain map or thumbnail (a further JPEG), a short video (an ISO base media file) or,
 * from Samsung, a trailer that ends in SEFT. Those are cut off; other data after the end may be a
 * hidden second file, so the image is rejected.
 */
function isCameraTrailer(rest: Buffer): boolean {
  if (rest.length === 0 || isPadding(rest)) return true;
  const further = rest.subarray(firstByteOfContent(rest));
  if (further[0] === 0xff && further[1] === 0xd8 && further[2] === 0xff) return true;
  if (further.toString('latin1', 4, 8) === 'ftyp') return true;
  return rest.toString('latin1', rest.length - 4) === 'SEFT';
}

function firstByteOfContent(rest: Buffer): number {
  const index = rest.findIndex((byte) => byte !== 0x00);
  // The length field of an ISO base media file itself begins with zeros, which must be kept.
  const boxStart = rest.indexOf('ftyp', 0, 'latin1') - 4;
  return boxStart >= 0 && boxStart <= index ? boxStart : index;
}
