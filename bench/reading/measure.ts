import { loadOcrModule, readModel } from '../../server/src/kyc/reading/ocr-packages.ts';
import {
  createEngine,
  type PictureReading,
  readPicture,
} from '../../server/src/kyc/reading/read-picture.ts';
import { isProven, parseZone, zoneFormats } from '../../server/src/kyc/reading/zone.ts';
import { photograph, variants } from '../../server/testing/documents/page.ts';
import { type Person, specimen, writeZone } from '../../server/testing/documents/zone.ts';

/**
 * How often the zone of an invented document is read, by what is wrong with its picture
 * (docs/decisions/0053-reading-documents.md). Prints a table in Markdown.
 */

const people: readonly Person[] = [
  specimen,
  {
    documentNumber: 'X4RTBPFW4',
    issuingState: 'FRA',
    nationality: 'FRA',
    surname: 'BERTHIER',
    givenNames: 'CORINNE<JULIETTE',
    birthDate: '651206',
    sex: 'F',
    expiryDate: '300713',
  },
  {
    documentNumber: 'C01X0006H',
    issuingState: 'GHA',
    nationality: 'GHA',
    surname: 'OWUSU<MENSAH',
    givenNames: 'KWAME',
    birthDate: '880229',
    sex: 'M',
    expiryDate: '310101',
  },
];

type Tally = {
  pictures: number;
  proven: number;
  right: number;
  wrongText: number;
  wrongNumber: number;
};

/** `wrongText`: what no check digit protects. `wrongNumber`: what one does. */
function judge(tally: Tally, reading: PictureReading, expected: readonly string[]): void {
  tally.pictures += 1;
  const [zone, original] = [reading.zone, parseZone(expected)];
  if (zone === undefined || original === undefined || !isProven(zone)) return;
  tally.proven += 1;
  const isNumberRight =
    zone.documentNumber === original.documentNumber &&
    zone.birthDate === original.birthDate &&
    zone.expiryDate === original.expiryDate;
  if (zone.lines.join('\n') === expected.join('\n')) tally.right += 1;
  else if (isNumberRight) tally.wrongText += 1;
  else tally.wrongNumber += 1;
}

/** Words of the command line choose variants by a part of their name. */
const words = process.argv.slice(2);
const chosen = Object.keys(variants).filter(
  (variant) => words.length === 0 || words.some((word) => variant.includes(word)),
);
const engine = createEngine(await loadOcrModule(), readModel());
process.stdout.write(
  '| picture | pictures | all check digits hold | every character right | a name, state or filler misread | a number or date misread | median |\n|---|---|---|---|---|---|---|\n',
);
for (const variant of chosen) {
  const tally: Tally = { pictures: 0, proven: 0, right: 0, wrongText: 0, wrongNumber: 0 };
  const times: number[] = [];
  for (const person of people) {
    for (const format of zoneFormats) {
      const zone = writeZone(format, person);
      const bytes = await photograph({ format, zone }, variant);
      const beganMs = performance.now();
      judge(tally, await readPicture(bytes, engine), zone);
      times.push(performance.now() - beganMs);
    }
  }
  const median = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
  const { pictures, proven, right, wrongText, wrongNumber } = tally;
  const cells = [
    variant,
    pictures,
    proven,
    right,
    wrongText,
    wrongNumber,
    `${(median / 1000).toFixed(1)} s`,
  ];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}
