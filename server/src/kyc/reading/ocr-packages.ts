import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

/** The optional packages that read text from pictures, which `npm run ocr` installs. */

const folder = fileURLToPath(new URL('../../../../ocr/', import.meta.url));
const packages = join(folder, 'node_modules');

/** What the process that reads documents may read beyond its code. */
export const ocrFolder = folder;

export function isReaderInstalled(): boolean {
  // npm writes this file last.
  return existsSync(join(packages, '.package-lock.json'));
}

/** The part of Tesseract's C++ interface that is used, as Emscripten exports it. */
export type Tesseract = {
  Init(folder: null, language: string, engine: number): number;
  SetVariable(name: string, value: string): void;
  /** Takes the file `/input`. Answers 1 where it is not a picture. */
  SetImageFile(orientation: number, angle: number): number;
  Recognize(monitor: null): number;
  GetUTF8Text(): string;
};
export type OcrModule = {
  readonly FS: { writeFile(path: string, bytes: Uint8Array): void };
  readonly TessBaseAPI: new () => Tesseract;
};
type OcrCore = (options: {
  wasmBinary: Uint8Array;
  print: () => void;
  printErr: () => void;
}) => Promise<OcrModule>;

const build = 'tesseract-core-simd';

/** Loads the engine from the disk; nothing is downloaded. */
export async function loadOcrModule(): Promise<OcrModule> {
  const core = createRequire(join(folder, 'package.json'))(
    `tesseract.js-core/${build}.js`,
  ) as OcrCore;
  const ignore = (): void => undefined;
  const wasmBinary = readFileSync(join(packages, 'tesseract.js-core', `${build}.wasm`));
  return core({ wasmBinary, print: ignore, printErr: ignore });
}

/** This variant of the model also has the older engine, which segments characters of equal width. */
export function readModel(): Buffer {
  const path = join(packages, '@tesseract.js-data/eng/4.0.0/eng.traineddata.gz');
  return gunzipSync(readFileSync(path));
}
