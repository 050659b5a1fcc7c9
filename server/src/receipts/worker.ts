import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NodeCompiler, type NodeTypstDocument } from '@myriaddreamin/typst-ts-node-compiler';
import { renderSVG } from 'uqr';
import type { HanRegion, ReceiptDocument } from './document.ts';
import { selectFonts } from './fonts.ts';
import type { ReceiptProof } from './proof.ts';
import { mapTexts } from './texts.ts';

/**
 * The child process that typesets receipts. It holds the engine and the fonts, so that their memory is
 * freed with it and a crash of native code does not reach the service. It ends with its parent.
 */
export type WorkerRequest = { id: number; job: TypesetJob };
/** A receipt, or another document in its own template. */
export type TypesetJob =
  | { document: ReceiptDocument; proof: ReceiptProof }
  | { document: TypesetDocument; template: PageTemplate };
/** Texts that a template places. */
export type TypesetDocument = { hanRegion: HanRegion };
/** `source`: Typst markup that reads the inputs `document` and `families`. */
export type PageTemplate = { source: string; pagesMax: number };

export type WorkerAnswer =
  | { id: number; pdf: Uint8Array; memoryBytes: number }
  | { id: number; error: string };

const receiptTemplate: PageTemplate = {
  source: readFileSync(fileURLToPath(new URL('./receipt.typ', import.meta.url)), 'utf8'),
  pagesMax: 1,
};
const replacementCharacter = '\ufffd';
/** Results that the last ten compilations did not use are dropped from the engine's cache. */
const cacheAgeMax = 10;

let engine: { key: string; compiler: NodeCompiler } | undefined;

/** A laid-out receipt, which the engine writes as PDF or, in tests, as SVG outlines. */
export type LaidOutReceipt = { compiler: NodeCompiler; compiled: NodeTypstDocument };

/** Lays out one document with the fonts that its text needs; a receipt with its proof attached. */
export async function layOut(job: TypesetJob): Promise<LaidOutReceipt> {
  const { document } = job;
  const { source, pagesMax } = 'template' in job ? job.template : receiptTemplate;
  const fonts = await selectFonts(textOf(document) + replacementCharacter, document.hanRegion);
  if (engine?.key !== fonts.key) {
    const fontArgs = [{ fontBlobs: fonts.blobs }];
    engine = { key: fonts.key, compiler: NodeCompiler.create({ fontArgs }) };
  }
  const { compiler } = engine;
  const inputs = {
    document: JSON.stringify(replaceUncovered(document, fonts.uncovered)),
    families: JSON.stringify(fonts.families),
    ...('proof' in job ? writeProofInputs(job) : {}),
  };
  const result = compiler.compile({ mainFileContent: source, inputs });
  const compiled = result.result;
  if (compiled === null) throw new Error(describeError(result.takeError()));
  if (compiled.numOfPages > pagesMax)
    throw new Error(`the document has ${compiled.numOfPages} pages, more than ${pagesMax}`);
  return { compiler, compiled };
}

/** The engine takes texts only. */
function writeProofInputs({ document, proof }: { document: ReceiptDocument; proof: ReceiptProof }) {
  return {
    record: proof.record,
    signature: JSON.stringify([...Buffer.from(proof.signature, 'base64')]),
    logo: JSON.stringify([...Buffer.from(document.brand.logo, 'base64')]),
    code: renderSVG(proof.code, { ecc: 'M', border: 0, pixelSize: 1 }),
  };
}

/**
 * Writes the PDF as PDF/UA-1. The engine rejects that when a glyph is missing, which happens where a
 * mark and its letter are in different fonts; then it writes a plain tagged PDF.
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
  return mapTexts(value, replace);
}

async function answer(request: WorkerRequest): Promise<WorkerAnswer> {
  try {
    const { pdf } = writePdf(await layOut(request.job));
    return { id: request.id, pdf, memoryBytes: process.memoryUsage.rss() };
  } catch (error) {
    return { id: request.id, error: withoutQuotedText(String(error)) };
  }
}

/** The engine quotes the document in its messages, and personal data must not be logged. */
function withoutQuotedText(message: string): string {
  return message.replace(/`[^`]*`/g, '`...`').slice(0, 1000);
}

if (process.send !== undefined && process.env.OUTLAY_RECEIPT_WORKER === '1') {
  // A signal to the process group must not end the receipt that a draining parent waits for.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  process.on('disconnect', () => process.exit(0));
  process.on('message', (request: WorkerRequest) => {
    void answer(request).then((result) => process.send?.(result));
  });
}
