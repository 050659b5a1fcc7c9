import type { SigningKey } from '../core/environment-keys.ts';
import { AppError } from '../core/errors.ts';
import { composeReceipt, type ReceiptData } from './document.ts';
import { requireEngine } from './engine.ts';
import { areScriptFontsInstalled } from './optional-fonts.ts';
import { createProof, signFile } from './proof.ts';
import { ReceiptError, ReceiptRenderer } from './renderer.ts';
import { mapTexts, transliterate } from './texts.ts';
import type { PageTemplate, TypesetDocument, TypesetJob } from './worker.ts';

export type { ReceiptData } from './document.ts';
export type { PageTemplate, TypesetDocument } from './worker.ts';

const rendererOptions = {
  waitingMax: 64,
  renderMs: 20_000,
  idleMs: 60_000,
  childBytesMax: 320 * 1024 * 1024,
};
let renderer: ReceiptRenderer | undefined;

/**
 * Makes a payout's receipt: one A4 page, a tagged PDF (PDF/UA-1), signed. The same data gives the same
 * bytes. Without the optional fonts, the page shows other scripts transliterated; the attached data
 * has them as they are.
 * @param data exact decimal texts for amounts, UTC ISO 8601 texts for times, '' for absent values
 * @throws AppError unavailable when too many wait or the time limit passes; not_acceptable where this kind
 * of machine has no engine.
 */
export async function renderReceipt(data: ReceiptData, key: SigningKey): Promise<Buffer> {
  const shown = areScriptFontsInstalled() ? data : mapTexts(data, transliterate);
  const pdf = await typeset({ document: composeReceipt(shown), proof: createProof(data, key) });
  return signFile(pdf, key);
}

/**
 * Typesets another document in the process of the receipts, one at a time with them.
 *
 * @throws AppError unavailable when too many wait or the time limit passes; not_acceptable where this kind
 * of machine has no engine.
 */
export function typesetDocument(
  document: TypesetDocument,
  template: PageTemplate,
): Promise<Uint8Array> {
  return typeset({ document, template });
}

async function typeset(job: TypesetJob): Promise<Uint8Array> {
  requireEngine();
  renderer ??= new ReceiptRenderer(rendererOptions);
  try {
    return await renderer.render(job);
  } catch (error) {
    if (!(error instanceof ReceiptError) || error.reason === 'failed') throw error;
    throw new AppError('unavailable', 'too many documents are being made', {
      retryAfterSeconds: 5,
      cause: error,
    });
  }
}

/** Ends the typesetting process when the service stops; a later receipt would start another one. */
export function closeReceipts(): void {
  renderer?.close();
  renderer = undefined;
}
