/**
 * Tells how much of a page is printed on, and fails for a blank one or one that is mostly ink.
 *
 *     node .ci/ink.mjs <page.pgm>       a grey map as pdftoppm -gray writes it (binary, 8 bits)
 */
import { readFileSync } from 'node:fs';

const file = readFileSync(process.argv[2]);
const header = /^P5\s+(\d+)\s+(\d+)\s+255\s/.exec(file.subarray(0, 64).toString('latin1'));
const points = Number(header[1]) * Number(header[2]);
const dark = file.subarray(header[0].length).filter((grey) => grey < 160).length;
const percent = (100 * dark) / points;
process.stdout.write(`${percent.toFixed(2)} % of the page is printed on\n`);
if (percent < 0.5 || percent > 30) process.exitCode = 1;
