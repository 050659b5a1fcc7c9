import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NodeCompiler, type NodeTypstDocument } from '@myriaddreamin/typst-ts-node-compiler';
import type { ReceiptDocument } from './document.ts';
import { selectFonts } from './fonts.ts';

/**
 * The child process that typesets receipts. It holds the engine and the fonts, so that their memory
 * ends with it and a crash of native code stays here. It lives as long as its parent's channel.
 */
export type WorkerRequest = { id: number; document: ReceiptDocument };
export type WorkerAnswer =
  | { id: number; pdf: Uint8Array; memoryBytes: number }
  | { id: number; error: string };

const template = readFileSync(fileURLToPath(new URL('./receipt.typ', import.meta.url)), 'utf8');
const replacementCharacter = '\ufffd';
/** Results that no compilation of the last ten used are dropped from the engine's cache. */
const cacheAgeMax = 10;

let engine: { key: string; compiler: NodeCompiler } | undefined;

/** A laid-out receipt, from which the engine writes a PDF or, in tests, outlines as SVG. */
export type LaidOutReceipt = { compiler: NodeCompiler; compiled: NodeTypstDocument };

/** Lays out one document with the fonts that its text needs. */
export async function layOut(document: ReceiptDocument): Promise<LaidOutReceipt> {
  const fonts = await selectFonts(textOf(document) + replacementCharacter, document.hanRegion);
  if (engine?.key !== fonts.key) {
    const fontArgs = [{ fontBlobs: fonts.blobs }];
    engine = { key: fonts.key, compiler: NodeCompiler.create({ fontArgs }) };
  }
  const { compiler } = engine;
  const inputs = {
    document: JSON.stringify(replaceUncovered(document, fonts.uncovered)),
    families: JSON.stringify(fonts.families),
  };
  const result = compiler.compile({ mainFileContent: template, inputs });
  const compiled = result.result;
  if (compiled === null) throw new Error(describeError(result.takeError()));
  if (compiled.numOfPages !== 1) throw new Error(`a receipt has ${compiled.numOfPages} pages`);
  return { compiler, compiled };
}

/**
 * Writes the PDF. PDF/UA-1 is asked for first; it is refused when a glyph is missing, which can
 * still happen where a mark and its letter are in different fonts. Then a plain tagged PDF is
 * better than none.
 */
export function writePdf({ compiler, compiled }: LaidOutReceipt): {
  pdf: Uint8Array;
  isAccessible: boolean;
} {
  try {
    return { pdf: compiler.pdf(compiled, { pdfStandard: 'ua-1' }), isAccessible: true };
  } catch {
    return { pdf: compiler.pdf(compiled), isAccessible: false };
  } finally {
    compiler.evictCache(cacheAgeMax);
  }
}

function describeError(error: { shortDiagnostics: unknown[] } | null): string {
  return `the receipt does not compile: ${JSON.stringify(error?.shortDiagnostics ?? [])}`;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(textOf).join(' ');
}

function replaceUncovered<Value>(value: Value, uncovered: Set<number>): Value {
  if (uncovered.size === 0) return value;
  const replace = (text: string) =>
    Array.from(text, (character) =>
      uncovered.has(character.codePointAt(0) ?? 0) ? replacementCharacter : character,
    ).join('');
  return JSON.parse(JSON.stringify(value), (_key, member: unknown) =>
    typeof member === 'string' ? replace(member) : member,
  ) as Value;
}

async function answer(request: WorkerRequest): Promise<WorkerAnswer> {
  try {
    const { pdf } = writePdf(await layOut(request.document));
    return { id: request.id, pdf, memoryBytes: process.memoryUsage.rss() };
  } catch (error) {
    return { id: request.id, error: withoutQuotedText(String(error)) };
  }
}

/** The engine quotes the document in its messages; people's names do not belong in a log. */
function withoutQuotedText(message: string): string {
  return message.replace(/`[^`]*`/g, '`...`').slice(0, 1000);
}

if (process.send !== undefined && process.env.OUTLAY_RECEIPT_WORKER === '1') {
  // A signal to the process group must not take away the receipt that a draining parent waits for.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  process.on('disconnect', () => process.exit(0));
  process.on('message', (request: WorkerRequest) => {
    void answer(request).then((result) => process.send?.(result));
  });
}
