import { inflateSync } from 'node:zlib';

/**
 * The attachments of a receipt's PDF. Embedded files are stream objects of their own (ISO 32000-1,
 * 7.11.4), so that they are found without the tables of the file.
 */
export type Attachments = {
  /** receipt.json. */
  record: Buffer | undefined;
  /** receipt.sig: 64 bytes. */
  signature: Buffer | undefined;
};

const objectPattern = /\bobj\s{0,9}<<((?:(?!\bendobj\b)[\s\S]){1,2000}?)>>\s{0,9}stream\r?\n/g;
const contentBytesMax = 1_000_000;

/** None where there are two of a kind: it must be certain which one was signed. */
export function readAttachments(pdf: Buffer): Attachments {
  const found: { type: string; content: Buffer }[] = [];
  // A character for a byte, so that positions in the text are positions in the file.
  for (const match of pdf.toString('latin1').matchAll(objectPattern)) {
    const [whole, dictionary = ''] = match;
    if (!/\/Type\s*\/EmbeddedFile\b/.test(dictionary)) continue;
    const length = Number(/\/Length\s+(\d+)\b(?!\s+\d+\s+R)/.exec(dictionary)?.[1] ?? 0);
    const start = match.index + whole.length;
    const content = decode(pdf.subarray(start, start + length), dictionary);
    const type = /\/Subtype\s*\/([^\s/>]+)/.exec(dictionary)?.[1] ?? '';
    if (content !== undefined) found.push({ type, content });
  }
  const only = (type: string): Buffer | undefined => {
    const [first, ...more] = found.filter((one) => one.type === type);
    return more.length === 0 ? first?.content : undefined;
  };
  return { record: only('application#2Fjson'), signature: only('application#2Foctet-stream') };
}

function decode(bytes: Buffer, dictionary: string): Buffer | undefined {
  if (!dictionary.includes('/Filter')) return bytes;
  if (!/\/Filter\s*\/FlateDecode\b/.test(dictionary)) return undefined;
  try {
    return inflateSync(bytes, { maxOutputLength: contentBytesMax });
  } catch {
    return undefined;
  }
}
