/**
 * Decodes an XML file by the rules of XML 1.0, appendix F: the encoding of the byte order mark, else of
 * the pattern of the first bytes, else of the XML declaration, else UTF-8.
 */

export type DecodedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly fault: string };

/** Encodings that banks use. `ISO-8859-1` is read as Windows-1252, which contains it. */
const knownEncodings =
  /^(?:utf-?8|utf-?16(?:le|be)?|us-ascii|iso-8859-(?:1|2|3|4|5|6|7|8|9|10|13|14|15|16)|windows-125[0-8])$/;

export function decodeXml(bytes: Uint8Array): DecodedText {
  const encoding = findEncoding(bytes);
  if (!knownEncodings.test(encoding)) return { ok: false, fault: 'its encoding is not supported' };
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    return { ok: true, text };
  } catch (error) {
    // The decoder's error for bytes that the encoding does not have.
    if (!(error instanceof TypeError)) throw error;
    return { ok: false, fault: `its bytes are not valid ${encoding}` };
  }
}

function findEncoding(bytes: Uint8Array): string {
  const [first = 0, second = 0, third = 0] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0x3c && second === 0) return 'utf-16le';
  if (first === 0 && second === 0x3c) return 'utf-16be';
  const start = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  const declared = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']/.exec(
    start,
  )?.[1];
  const encoding = declared?.toLowerCase() ?? 'utf-8';
  // A declaration that can be read byte by byte is not in UTF-16.
  return encoding.startsWith('utf-16') ? 'utf-8' : encoding;
}
