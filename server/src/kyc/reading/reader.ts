import { join } from 'node:path';
import { z } from 'zod';
import { withWorker } from '../confined-worker.ts';
import { isReaderInstalled, ocrFolder } from './ocr-packages.ts';
import { countChecks, isProven, parseZone, type Zone } from './zone.ts';

/** Reads the machine-readable zone of a document from its pictures, offline, in a confined process. */

/**
 * `read`: every check digit holds. `partly_read`: those of number, birth and expiry hold, another does
 * not. `not_read`: no zone was found whose check digits hold; nothing is guessed.
 */
export type DocumentReading =
  | { readonly result: 'read' | 'partly_read'; readonly zone: Zone; readonly agreeing: number }
  | { readonly result: 'not_read' | 'not_installed' };

/** One document, start of the process included; the process is killed then. */
const timeMaxMs = 60_000;

const answerSchema = z.object({
  lines: z.array(z.string().max(44)).max(3),
  agreeing: z.int().min(0).max(100),
  tried: z.int().min(0).max(100),
});

/**
 * Reads pictures one after another until one has a zone that is proven.
 *
 * @throws WorkerError
 */
export async function readDocument(
  pictures: readonly Uint8Array[],
  stopping?: AbortSignal,
): Promise<DocumentReading> {
  if (!isReaderInstalled()) return { result: 'not_installed' };
  const worker = {
    module: join(import.meta.dirname, 'reader-worker.ts'),
    name: 'the reader',
    answer: answerSchema,
    timeMaxMs,
    readable: [ocrFolder],
  };
  const readings = await withWorker(
    worker,
    async (ask) => {
      const found: { zone: Zone; agreeing: number }[] = [];
      for (const bytes of pictures) {
        const answer = await ask({ bytes });
        // What the process found is judged here: it has read what a stranger sent.
        const zone = parseZone(answer.lines);
        if (zone !== undefined) found.push({ zone, agreeing: answer.agreeing });
        if (zone !== undefined && isProven(zone)) break;
      }
      return found;
    },
    stopping,
  );
  return judge(readings);
}

function judge(readings: readonly { zone: Zone; agreeing: number }[]): DocumentReading {
  const [best] = readings.toSorted((a, b) => countChecks(b.zone) - countChecks(a.zone));
  if (best === undefined) return { result: 'not_read' };
  const { document_number: number, birth_date: birth, expiry_date: expiry } = best.zone.checks;
  if (isProven(best.zone)) return { result: 'read', ...best };
  return number === true && birth === true && expiry === true
    ? { result: 'partly_read', ...best }
    : { result: 'not_read' };
}
