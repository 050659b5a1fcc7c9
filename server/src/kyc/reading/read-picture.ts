import { type OcrModule, type Tesseract } from './ocr-packages.ts';
import {
  binarize,
  decodePicture,
  encodePicture,
  findTilt,
  isBlank,
  type Picture,
  rotate,
  sharpen,
  soften,
  stretchContrast,
  takeLower,
} from './picture.ts';
import { countChecks, findZone, isProven, type Zone } from './zone.ts';

/** Searches one picture for a machine-readable zone. Runs in the confined process. */

export type PictureReading = {
  /** The zone with the most check digits that hold. */
  readonly zone: Zone | undefined;
  /** How many preparations of the picture gave exactly these lines. */
  readonly agreeing: number;
  readonly tried: number;
};

export type Engine = (picture: Picture) => Promise<string>;

/** Tesseract's older engine: it cuts lines into characters, which have equal width here. */
const legacyEngine = 0;
const oneBlockOfText = '6';

export function createEngine(ocr: OcrModule, model: Uint8Array): Engine {
  ocr.FS.writeFile('./eng.traineddata', model);
  const api: Tesseract = new ocr.TessBaseAPI();
  if (api.Init(null, 'eng', legacyEngine) !== 0) throw new Error('the engine does not start');
  api.SetVariable('tessedit_char_whitelist', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789<');
  api.SetVariable('tessedit_pageseg_mode', oneBlockOfText);
  // Words of a dictionary are not what a zone has.
  for (const name of ['load_system_dawg', 'load_freq_dawg']) api.SetVariable(name, '0');
  return async (picture) => {
    ocr.FS.writeFile('/input', await encodePicture(picture));
    if (api.SetImageFile(1, 0) === 1) throw new Error('the engine cannot read the picture');
    api.Recognize(null);
    return api.GetUTF8Text();
  };
}

type Preparation = (picture: Picture) => Promise<Picture>;

/** Where a zone is: below this share of the height, on all documents that have one. */
const lower = 0.42;

/** Specks would be taken for characters, and there would be thousands of them. */
const toInk = async (picture: Picture): Promise<Picture> => binarize(await soften(picture));

const scan: Preparation = async (picture) => toInk(await takeLower(picture, lower, 1_300));
const preparations: readonly Preparation[] = [
  async (picture) => stretchContrast(await takeLower(picture, lower, 1_600)),
  async (picture) => toInk(await takeLower(picture, lower, 1_600)),
  async (picture) => stretchContrast(await takeLower(picture, lower, 1_000)),
  async (picture) => toInk(await sharpen(await takeLower(picture, lower, 2_000))),
  async (picture) => stretchContrast(await sharpen(await takeLower(picture, lower, 1_300))),
  async (picture) => toInk(await takeLower(picture, 0, 1_600)),
];

const quarterTurns = [0, 90, 270, 180];
/** So many check digits do not hold by chance: this is the right way up. */
const checksEnough = 3;
/** The second preparation that reads the same ends the search; both can confuse the same letters. */
const agreeingMin = 2;
/** Of one picture; the process has a limit of its own. */
const readMsMax = 20_000;

/** Reads until two preparations agree on a zone whose check digits hold, or none is left. */
export async function readPicture(bytes: Uint8Array, engine: Engine): Promise<PictureReading> {
  const endMs = performance.now() + readMsMax;
  const picture = await decodePicture(bytes);
  const tally = createTally();
  // The engine would search it as long as one with text.
  if (isBlank(picture)) return tally.best();
  const turned: { upright: Picture; score: number }[] = [];
  for (const degrees of quarterTurns) {
    const upright = await straighten(await rotate(picture, degrees));
    const text = await engine(await scan(upright));
    const zone = findZone(text);
    const checks = zone === undefined ? 0 : countChecks(zone);
    turned.push({ upright, score: 10 * checks + countLongLines(text) });
    tally.add(zone);
    if (checks >= checksEnough) break;
  }
  turned.sort((a, b) => b.score - a.score);
  for (const { upright, score } of turned.slice(0, 2)) {
    for (const prepare of score > 0 ? preparations : preparations.slice(-1)) {
      if (tally.isSettled() || performance.now() > endMs) return tally.best();
      tally.add(findZone(await engine(await prepare(upright))));
    }
    if (score >= 10 * checksEnough) break;
  }
  return tally.best();
}

/** Turns the lines of text level. */
async function straighten(picture: Picture): Promise<Picture> {
  const tilt = findTilt(binarize(await takeLower(picture, lower, 700)));
  return Math.abs(tilt) < 0.5 ? picture : rotate(picture, -tilt);
}

/** Lines as long as those of a zone, with fillers or many digits. */
function countLongLines(text: string): number {
  const lines = text.split('\n').map((line) => line.replaceAll(/[^A-Z0-9<]/g, ''));
  return lines.filter(
    (line) =>
      line.length >= 24 && line.length <= 50 && (line.includes('<<') || /(\d.?){6}/.test(line)),
  ).length;
}

function createTally() {
  const seen = new Map<string, { zone: Zone; count: number }>();
  let tried = 0;
  const listBest = () =>
    [...seen.values()].toSorted(
      (a, b) => countChecks(b.zone) - countChecks(a.zone) || b.count - a.count,
    )[0];
  return {
    add: (zone: Zone | undefined): void => {
      tried += 1;
      if (zone === undefined) return;
      const key = zone.lines.join('\n');
      seen.set(key, { zone, count: (seen.get(key)?.count ?? 0) + 1 });
    },
    isSettled: (): boolean => {
      const best = listBest();
      return best !== undefined && isProven(best.zone) && best.count >= agreeingMin;
    },
    best: (): PictureReading => {
      const best = listBest();
      return { zone: best?.zone, agreeing: best?.count ?? 0, tried };
    },
  };
}
