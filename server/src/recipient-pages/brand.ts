/**
 * The tones that pages make of a sender's color: readable on their grounds whatever the color is
 * (WCAG 2.2, 1.4.3 and 1.4.11: 4.5 to 1 suffices for both).
 */

export type Tones = {
  /** Of texts, links and lines. */
  readonly light: string;
  readonly dark: string;
  /** Of filled buttons: the color itself, and the texts on it. */
  readonly fill: string;
  readonly on_fill: string;
};

type Rgb = readonly [number, number, number];

const contrastMin = 4.5;
/** The grounds of page.css: of each scheme the one that is harder to read on. */
const lightGround = '#f4f5f7';
const darkGround = '#1a212a';
const white = '#ffffff';
const black = '#000000';
const steps = 50;

/** `color`: #rrggbb, or "" for the page's own. */
export function makeTones(color: string): Tones | undefined {
  if (!/^#[0-9a-f]{6}$/.test(color)) return undefined;
  return {
    light: shift(color, { ground: lightGround, end: black }),
    dark: shift(color, { ground: darkGround, end: white }),
    fill: color,
    // One of the two has more than 4.5 to 1 on every color.
    on_fill: contrast(white, color) >= contrast(black, color) ? white : black,
  };
}

/** The color itself where it is readable on the ground, else moved towards `end` until it is. */
function shift(color: string, { ground, end }: { ground: string; end: string }): string {
  for (let step = 0; step < steps; step += 1) {
    const tone = mix(color, end, step / steps);
    if (contrast(tone, ground) >= contrastMin) return tone;
  }
  return end;
}

function read(color: string): Rgb {
  const at = (place: number): number => Number.parseInt(color.slice(place, place + 2), 16);
  return [at(1), at(3), at(5)];
}

function mix(color: string, end: string, share: number): string {
  const [from, to] = [read(color), read(end)];
  const parts = from.map((value, index) => Math.round(value + ((to[index] ?? 0) - value) * share));
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

/** The contrast ratio of WCAG 2.2, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = read(color).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
