/** The limits of uploaded and stored images. */

/** Base64 text of one image, in characters: 10 MiB. */
export const imageCharactersMax = 10 * 1024 * 1024;
export const imageSideMax = 10_000;
export const imagePixelsMax = 40_000_000;

/** Decoded bytes of an interlaced PNG, which must be in memory as a whole: 40 megapixels of RGBA. */
export const interlacedBytesMax = 160_000_000;

/** Enough to read the small print of a document, in a tenth of the size that cameras send. */
export const storedSideMax = 3_000;
export const storedQuality = 85;

/** One photograph takes a second or two, a logo a tenth; a file that takes this long is malicious. */
export const decodeTimesMaxMs: Readonly<Record<DecodePurpose, number>> = {
  photograph: 30_000,
  logo: 3_000,
};

export const logoSize = { width: 600, height: 200 };

/** A photograph becomes a JPEG on white, a logo a small PNG. */
export type DecodePurpose = 'photograph' | 'logo';
export type DecodeRequest = { bytes: Uint8Array; purpose: DecodePurpose };
export type DecodeAnswer =
  | { isDamaged: true }
  | { isDamaged?: false; bytes: Uint8Array; width: number; height: number };
