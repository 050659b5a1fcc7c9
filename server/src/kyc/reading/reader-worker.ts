import sharp from 'sharp';
import { loadOcrModule, readModel } from './ocr-packages.ts';
import { createEngine, type Engine, readPicture } from './read-picture.ts';

/**
 * The process that searches pictures for machine-readable zones, started by `reader.ts`. It has no
 * secrets, no database and no network, and answers lines of text only.
 */

sharp.cache(false);
sharp.concurrency(1);

export type ReadRequest = { readonly bytes: Uint8Array };
export type ReadAnswer =
  | { readonly lines: readonly string[]; readonly agreeing: number; readonly tried: number }
  | { readonly isFailed: true };

let loaded: Promise<Engine> | undefined;
/** Loads the engine for the first picture that needs it. */
const engine: Engine = async (picture) => {
  loaded ??= loadOcrModule().then((ocr) => createEngine(ocr, readModel()));
  return (await loaded)(picture);
};

process.on('message', (request: ReadRequest) => {
  void answer(request);
});
process.on('disconnect', () => process.exit(0));

async function answer({ bytes }: ReadRequest): Promise<void> {
  let result: ReadAnswer;
  try {
    const { zone, agreeing, tried } = await readPicture(bytes, engine);
    result = { lines: zone?.lines ?? [], agreeing, tried };
  } catch {
    // The message may quote the picture, so it is dropped.
    result = { isFailed: true };
  }
  process.send?.(result);
}
