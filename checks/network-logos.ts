/**
 * Draws the logos of the simulated network into network-logos.json; run it after changing a shape.
 * Shapes only, no fonts: the result is the same on every machine.
 *
 *     node checks/network-logos.ts
 */
import { writeFile } from 'node:fs/promises';
import sharp from 'sharp';

type Mark = { readonly background: string; readonly shape: string };

/** Strokes of an initial on a 64 x 64 field. */
const strokes = {
  M: 'M18 46V18L32 34L46 18V46',
  K: 'M20 16V48M44 16L21 33L44 48',
  H: 'M19 16V48M45 16V48M19 32H45',
  F: 'M21 48V16H45M21 31H39',
  P: 'M21 48V16H35Q46 16 46 26Q46 36 35 36H21',
  T: 'M16 18H48M32 18V48',
  B: 'M20 16V48H35Q45 48 45 40Q45 32 35 32H20M35 32Q43 32 43 24Q43 16 35 16H20',
  N: 'M19 48V16L45 48V16',
  D: 'M20 16V48H30Q46 48 46 32Q46 16 30 16Z',
} as const;

function drawInitial(initial: keyof typeof strokes, background: string): Mark {
  const line = 'fill="none" stroke="#fff" stroke-width="6" stroke-linejoin="round"';
  return { background, shape: `<path d="${strokes[initial]}" ${line} stroke-linecap="round"/>` };
}

function drawShape(background: string, path: string): Mark {
  return { background, shape: `<path d="${path}" fill="#fff" fill-rule="evenodd"/>` };
}

const marks: Readonly<Record<string, Mark>> = {
  meridian: drawInitial('M', '#1d4ed8'),
  kestrel: drawInitial('K', '#b45309'),
  harbour: drawInitial('H', '#0f766e'),
  fernway: drawInitial('F', '#15803d'),
  plaza: drawInitial('P', '#be123c'),
  tamarind: drawInitial('T', '#7c2d12'),
  blockline: drawInitial('B', '#334155'),
  northgate: drawInitial('N', '#6d28d9'),
  doorstep: drawInitial('D', '#a16207'),
  bank: drawShape(
    '#1e3a8a',
    'M32 12L52 24V28H12V24ZM16 31H22V46H16ZM29 31H35V46H29ZM42 31H48V46H42ZM12 48H52V53H12Z',
  ),
  savings: drawShape(
    '#155e75',
    'M14 14H50V46H46V52H40V46H24V52H18V46H14ZM32 22A8 8 0 1 0 32 38A8 8 0 1 0 32 22Z',
  ),
  cash: drawShape('#166534', 'M8 20H56V46H8ZM32 25A8 8 0 1 0 32 41A8 8 0 1 0 32 25Z'),
  post: drawShape('#9a3412', 'M10 18H54V48H10ZM14 22L32 36L50 22L50 27L32 41L14 27Z'),
  wallet: drawShape('#7e22ce', 'M20 8H44V56H20ZM24 14H40V46H24Z'),
  app: drawShape('#be185d', 'M10 20H48V26H54V46H48V50H10ZM40 32H54V40H40Z'),
  home: drawShape('#0369a1', 'M32 10L56 32H49V52H37V38H27V52H15V32H8Z'),
  check: drawShape(
    '#475569',
    'M8 18H56V46H8ZM13 24H33V28H13ZM13 34H27V38H13ZM38 36L50 30V34L38 40Z',
  ),
  bill: drawShape(
    '#a21caf',
    'M16 8H48V56L40 50L32 56L24 50L16 56ZM22 16H42V20H22ZM22 26H42V30H22Z',
  ),
  chain: drawShape(
    '#0f172a',
    'M32 8L53 20V44L32 56L11 44V20ZM32 15L17 23.500V40.500L32 49L47 40.500V23.500Z',
  ),
};

const logos: Record<string, string> = {};
for (const [name, { background, shape }] of Object.entries(marks)) {
  const field = `<rect width="64" height="64" rx="14" fill="${background}"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64">${field}${shape}</svg>`;
  const png = await sharp(Buffer.from(svg))
    .png({ palette: true, colours: 16, compressionLevel: 9, effort: 10 })
    .toBuffer();
  logos[name] = png.toString('base64');
}
await writeFile(
  new URL('../server/src/rails/sandbox/network-logos.json', import.meta.url),
  `${JSON.stringify(logos, null, 2)}\n`,
);
