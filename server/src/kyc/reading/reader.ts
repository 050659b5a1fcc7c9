import { once } from 'node:events';
import { join } from 'node:path';
import { z } from 'zod';
import { forkConfined } from '../decoder-confinement.ts';
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

const answerSchema = z.union([
  z.object({
    lines: z.array(z.string().max(44)).max(3),
    agreeing: z.int().min(0).max(100),
    tried: z.int().min(0).max(100),
  }),
  z.object({ isFailed: z.literal(true) }),
]);

/** The process ended, hung or failed: the document may be read again later. */
export class ReaderError extends Error {}

/**
 * Reads pictures one after another until one has a zone that is proven.
 *
 * @throws ReaderError
 */
export async function readDocument(
  pictures: readonly Uint8Array[],
  stopping?: AbortSignal,
): Promise<DocumentReading> {
  if (!isReaderInstalled()) return { result: 'not_installed' };
  const limit = AbortSignal.timeout(timeMaxMs);
  const signal = stopping === undefined ? limit : AbortSignal.any([limit, stopping]);
  const child = await forkConfined(join(import.meta.dirname, 'reader-worker.ts'), {
    readable: [ocrFolder],
  });
  const ended = once(child, 'exit').catch(() => undefined);
  try {
    const readings: { zone: Zone; agreeing: number }[] = [];
    for (const bytes of pictures) {
      const answered = once(child, 'message', { signal });
      child.send({ bytes });
      const [message] = (await Promise.race([answered, failAt(ended)])) as unknown[];
      const answer = answerSchema.parse(message);
      if ('isFailed' in answer) throw new ReaderError('the reader failed');
      // What the process found is judged here: it has read what a stranger sent.
      const zone = parseZone(answer.lines);
      if (zone !== undefined) readings.push({ zone, agreeing: answer.agreeing });
      if (zone !== undefined && isProven(zone)) break;
    }
    return judge(readings);
  } catch (cause) {
    throw cause instanceof ReaderError
      ? cause
      : new ReaderError('the reader did not answer', { cause });
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

async function failAt(ended: Promise<unknown>): Promise<never> {
  await ended;
  throw new ReaderError('the reader ended without an answer');
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
