import sharp, { type Sharp } from 'sharp';
import { drawLine } from './glyphs.ts';
import type { ZoneFormat } from './zone.ts';

/** Pictures of invented identity documents, for tests and measurements. */

/** Millimetres (ICAO 9303-4, -5 and -6). The zone is printed with 10 characters an inch. */
const sizes = {
  TD1: { width: 85.6, height: 54 },
  TD2: { width: 105, height: 74 },
  TD3: { width: 125, height: 88 },
} as const;
const characterHeight = 2.4;
const lineDistance = 4.23;

export type Page = {
  readonly format: ZoneFormat;
  readonly zone: readonly string[];
  /** Pixels per millimetre; 12 is a careful photograph of a passport, 8 a poor one. */
  readonly scale?: number;
  /** Millimetres of the table around the document. */
  readonly margin?: number;
};

function drawGuilloche(width: number, height: number): string {
  return Array.from({ length: 18 }, (_, index) => {
    const y = (height / 18) * index;
    const wave = `M0 ${y} q ${width / 8} ${6 - (index % 5)} ${width / 4} 0 t ${width / 4} 0 t ${width / 4} 0 t ${width / 4} 0`;
    return `<path d="${wave}" fill="none" stroke="#b9cfd6" stroke-width="0.25"/>`;
  }).join('');
}

/** The side of a document with the zone, lying on a table. */
export async function drawPage(page: Page): Promise<Buffer> {
  const { format, zone, scale = 12, margin = 6 } = page;
  const { width, height } = sizes[format];
  const zoneTop = height - 6.5 - lineDistance * (zone.length - 1);
  const labels =
    format === 'TD1'
      ? []
      : ['SPECIMEN', 'UTOPIA', 'PASSPORT', 'AUTHORITY'].map((word, index) =>
          drawLine(word, { x: width * 0.36, y: 8 + index * 9, height: 1.9 }),
        );
  const lines = zone.map((line, index) =>
    drawLine(line, {
      x: (width - (line.length * 10.6 * characterHeight) / 10) / 2,
      y: zoneTop + index * lineDistance,
      height: characterHeight,
    }),
  );
  const portrait =
    format === 'TD1'
      ? ''
      : `<rect x="6" y="12" width="${width * 0.26}" height="${height * 0.42}" fill="#8d9aa3"/>` +
        `<ellipse cx="${6 + width * 0.13}" cy="${12 + height * 0.2}" rx="8" ry="11" fill="#d7b79a"/>`;
  const [outerWidth, outerHeight] = [width + 2 * margin, height + 2 * margin];
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${outerWidth * scale}" height="${outerHeight * scale}" viewBox="${-margin} ${-margin} ${outerWidth} ${outerHeight}">
    <rect x="${-margin}" y="${-margin}" width="${outerWidth}" height="${outerHeight}" fill="#6d5a48"/>
    <rect width="${width}" height="${height}" rx="2.5" fill="#eef3ee"/>
    ${drawGuilloche(width, height)}${portrait}${labels.join('')}${lines.join('')}</svg>`;
  return sharp(Buffer.from(svg))
    .flatten({ background: '#6d5a48' })
    .jpeg({ quality: 88 })
    .toBuffer();
}

const table = { background: '#6d5a48' };

async function addNoise(bytes: Buffer, sigma: number): Promise<Sharp> {
  const { width, height } = await sharp(bytes).metadata();
  const noise = await sharp({
    create: {
      width,
      height,
      channels: 3,
      background: '#808080',
      noise: { type: 'gaussian', mean: 128, sigma },
    },
  })
    .png()
    .toBuffer();
  return sharp(bytes).composite([{ input: noise, blend: 'soft-light' }]);
}

/** What goes wrong when people photograph documents, each as a picture of its own. */
export const variants: Readonly<Record<string, (bytes: Buffer) => Promise<Sharp> | Sharp>> = {
  'as drawn': (bytes) => sharp(bytes),
  'turned by 90 degrees': (bytes) => sharp(bytes).rotate(90),
  'upside down': (bytes) => sharp(bytes).rotate(180),
  'turned by 270 degrees': (bytes) => sharp(bytes).rotate(270),
  'tilted by 2 degrees': (bytes) => sharp(bytes).rotate(2, table),
  'tilted by 5 degrees': (bytes) => sharp(bytes).rotate(5, table),
  'tilted by -8 degrees': (bytes) => sharp(bytes).rotate(-8, table),
  'noise (sigma 30)': (bytes) => addNoise(bytes, 30),
  'noise (sigma 60)': (bytes) => addNoise(bytes, 60),
  'blurred (sigma 1.5)': (bytes) => sharp(bytes).blur(1.5),
  'blurred (sigma 3)': (bytes) => sharp(bytes).blur(3),
  'blurred (sigma 5)': (bytes) => sharp(bytes).blur(5),
  'dark (25 percent)': (bytes) => sharp(bytes).modulate({ brightness: 0.25 }),
  'low contrast': (bytes) => sharp(bytes).linear(0.2, 90),
  'shadow over half': castShadow,
  'glare in the zone': addGlare,
  'small (40 percent)': shrink(0.4),
  'small (25 percent)': shrink(0.25),
  'JPEG quality 20': async (bytes) => sharp(await sharp(bytes).jpeg({ quality: 20 }).toBuffer()),
};

function shrink(factor: number) {
  return async (bytes: Buffer): Promise<Sharp> => {
    const { width } = await sharp(bytes).metadata();
    return sharp(bytes).resize({ width: Math.round(width * factor) });
  };
}

async function overlay(
  bytes: Buffer,
  draw: (width: number, height: number) => string,
  blend: 'multiply' | 'over',
): Promise<Sharp> {
  const { width, height } = await sharp(bytes).metadata();
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${draw(width, height)}</svg>`;
  return sharp(bytes).composite([{ input: Buffer.from(svg), blend }]);
}

function castShadow(bytes: Buffer): Promise<Sharp> {
  const draw = (width: number, height: number): string =>
    `<defs><linearGradient id="s"><stop offset="0.35" stop-color="#444"/><stop offset="0.6" stop-color="#fff"/></linearGradient></defs><rect width="${width}" height="${height}" fill="url(#s)"/>`;
  return overlay(bytes, draw, 'multiply');
}

/** A white spot that hides a few characters: no reader can see what is not there. */
function addGlare(bytes: Buffer): Promise<Sharp> {
  const draw = (width: number, height: number): string =>
    `<defs><radialGradient id="g"><stop offset="0.6" stop-color="#fff"/><stop offset="1" stop-color="#fff" stop-opacity="0"/></radialGradient></defs><circle cx="${width * 0.3}" cy="${height * 0.86}" r="${width * 0.05}" fill="url(#g)"/>`;
  return overlay(bytes, draw, 'over');
}

export async function photograph(page: Page, variant: string): Promise<Buffer> {
  const change = variants[variant];
  if (change === undefined) throw new RangeError(`unknown variant: ${variant}`);
  return (await change(await drawPage(page))).jpeg({ quality: 85 }).toBuffer();
}
