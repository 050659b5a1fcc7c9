import { composeReceipt, type ReceiptData } from './document.ts';
import { ReceiptRenderer } from './renderer.ts';

export type { ReceiptData } from './document.ts';

const renderer = new ReceiptRenderer({
  waitingMax: 64,
  renderMs: 20_000,
  idleMs: 60_000,
  childBytesMax: 320 * 1024 * 1024,
});

/**
 * Makes a payout's receipt: one A4 page, a tagged PDF (PDF/UA-1). The same data gives the same page.
 * @param data exact decimal texts for amounts, UTC ISO 8601 texts for times, '' for what there is not
 * @throws ReceiptError when too many wait, the time limit passes, or typesetting fails
 */
export async function renderReceipt(data: ReceiptData): Promise<Uint8Array> {
  return renderer.render(composeReceipt(data));
}

/** Ends the typesetting process when the service stops; later receipts are refused. */
export function closeReceipts(): void {
  renderer.close();
}
