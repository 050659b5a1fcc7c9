/**
 * The characters of a machine-readable zone as lines of constant width, in the manner of OCR-B. Drawn
 * for tests: a cell is 10.6 units wide, capitals are 6 by 10 units, y grows downwards.
 */

const oval = 'M3 0 C-0.9 0 -0.9 10 3 10 C6.9 10 6.9 0 3 0 Z';
const glyphs: Readonly<Record<string, string>> = {
  A: 'M0 10 L2.6 0 L3.4 0 L6 10 M1 6.6 L5 6.6',
  B: 'M0 0 V10 H3.4 C6.8 10 6.8 4.8 3.4 4.8 H0 M3.2 4.8 C6 4.8 6 0 3.2 0 H0',
  C: 'M5.8 1 C4 -0.6 0 -0.4 0 5 C0 10.4 4 10.6 5.8 9',
  D: 'M0 0 V10 H2.2 C7.2 10 7.2 0 2.2 0 Z',
  E: 'M5.6 0 H0 V10 H5.6 M0 4.8 H4.6',
  F: 'M5.6 0 H0 V10 M0 4.8 H4.6',
  G: 'M5.6 1 C4 -0.6 0 -0.4 0 5 C0 10.4 4 10.6 5.8 9.2 V5.4 H3.4',
  H: 'M0 0 V10 M6 0 V10 M0 4.8 H6',
  I: 'M1 0 H5 M3 0 V10 M1 10 H5',
  J: 'M1.5 0 H5 V7 C5 11 1 11 0.4 8.6',
  K: 'M0 0 V10 M5.6 0 L0 5.6 M2 3.9 L6 10',
  L: 'M0.4 0 V10 H5.8',
  M: 'M0 10 V0 L3 5 L6 0 V10',
  N: 'M0 10 V0 L6 10 V0',
  O: 'M3 0 C0.4 0 0 1.6 0 5 C0 8.4 0.4 10 3 10 C5.6 10 6 8.4 6 5 C6 1.6 5.6 0 3 0 Z',
  P: 'M0 10 V0 H3 C7 0 7 5.6 3 5.6 H0',
  Q: 'M3 0 C0.4 0 0 1.6 0 5 C0 8.4 0.4 10 3 10 C5.6 10 6 8.4 6 5 C6 1.6 5.6 0 3 0 Z M3.4 7 L6.2 10.4',
  R: 'M0 10 V0 H3 C7 0 7 5.6 3 5.6 H0 M3 5.6 L6 10',
  S: 'M5.5 1 C4 -0.6 0.2 -0.4 0.2 2.6 C0.2 5.6 5.8 4.4 5.8 7.4 C5.8 10.4 1.6 10.6 0.2 8.8',
  T: 'M0 0 H6 M3 0 V10',
  U: 'M0 0 V6.4 C0 11.2 6 11.2 6 6.4 V0',
  V: 'M0 0 L3 10 L6 0',
  W: 'M0 0 L1.3 10 L3 3.4 L4.7 10 L6 0',
  X: 'M0 0 L6 10 M6 0 L0 10',
  Y: 'M0 0 L3 5 L6 0 M3 5 V10',
  Z: 'M0.2 0 H5.8 L0.2 10 H5.8',
  '0': oval,
  '1': 'M0.8 1.8 L3.2 0 V10 M1 10 H5.4',
  '2': 'M0.3 2.2 C0.6 -0.8 5.6 -0.8 5.6 2.6 C5.6 5 0.6 7.6 0.2 10 H5.8',
  '3': 'M0.4 0 H5.4 L2.6 4 C6.8 4 6.8 10 2.8 10 C1.4 10 0.4 9.4 0 8.8',
  '4': 'M3 0 L0 7 H6 M4.4 4 V10',
  '5': 'M5.4 0 H0.8 V4.2 C6.8 3.2 7 10 2.8 10 C1.4 10 0.4 9.4 0 8.8',
  '6': 'M4.4 0 C1.6 2.2 0.2 4.6 0.2 7 C0.2 11 5.8 11 5.8 7 C5.8 3.4 1.6 3.2 0.4 6',
  '7': 'M0.2 0 H5.8 C3.4 4 2.6 6.4 2.6 10',
  '8': 'M3 4.6 C-0.2 4.6 -0.2 0 3 0 C6.2 0 6.2 4.6 3 4.6 C-1 4.6 -1 10 3 10 C7 10 7 4.6 3 4.6 Z',
  '9': 'M1.6 10 C4.4 7.8 5.8 5.4 5.8 3 C5.8 -1 0.2 -1 0.2 3 C0.2 6.6 4.4 6.8 5.6 4',
  '<': 'M5.6 1.6 L0.8 5 L5.6 8.4',
};

const cellWidth = 10.6;

/** A place on the page and the height of capitals, all in the units of the page. */
export type TextPlace = { readonly x: number; readonly y: number; readonly height: number };

/** SVG of one line of characters. */
export function drawLine(text: string, { x, y, height }: TextPlace): string {
  const scale = height / 10;
  const paths = Array.from(text).map((character, index) => {
    const path = glyphs[character];
    return path === undefined
      ? ''
      : `<path transform="translate(${index * cellWidth} 0)" d="${path}"/>`;
  });
  const group = `transform="translate(${x} ${y}) scale(${scale})" fill="none" stroke="#1a1a1a"`;
  return `<g ${group} stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round">${paths.join('')}</g>`;
}
