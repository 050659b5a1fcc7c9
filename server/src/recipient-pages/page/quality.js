/**
 * Hints about a picture before it is sent, from its pixels alone. They are guesses: the person decides,
 * and the service accepts the picture anyway. `pixels`: `{ data, width, height }` as ImageData.
 */

/** The width at which pictures are judged, so that the thresholds mean the same for every camera. */
export const judgedWidth = 480;

const darkMax = 62;
const sharpMin = 45;
const saturated = 250;
const block = 12;
const glareMin = 0.006;
/** More than that is white paper or a white wall. */
const glareMax = 0.25;
const stripShare = 0.035;
const edgeMin = 26;
const cutMin = 0.5;

/** The names of the hints, worst first; none for a good picture. */
export function judge(pixels, type) {
  const gray = toGray(pixels);
  const hints = [];
  if (mean(gray.values) < darkMax) hints.push('dark');
  else if (sharpness(gray) < sharpMin) hints.push('blurred');
  if (type !== 'face') {
    const glare = glareShare(gray);
    if (glare > glareMin && glare < glareMax) hints.push('glare');
    if (reachesBorder(gray)) hints.push('cut');
  }
  return hints;
}

/** Luma (ITU-R BT.601). */
function toGray({ data, width, height }) {
  const values = new Uint8Array(width * height);
  for (let index = 0; index < values.length; index += 1) {
    const at = index * 4;
    values[index] = (data[at] * 299 + data[at + 1] * 587 + data[at + 2] * 114) / 1000;
  }
  return { values, width, height };
}

function mean(values) {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

/**
 * The variance of the Laplacian over the sharpest tenth of the blocks: a sharp document has empty areas
 * too, and a blurred one has sharp edges nowhere.
 */
function sharpness({ values, width, height }) {
  const size = block * 2;
  const variances = [];
  for (let top = 1; top + size < height; top += size) {
    for (let left = 1; left + size < width; left += size) {
      variances.push(blockVariance(values, width, { top, left, size }));
    }
  }
  const sharpest = variances.toSorted((a, b) => b - a);
  return sharpest[Math.floor(sharpest.length / 10)] ?? 0;
}

function blockVariance(values, width, { top, left, size }) {
  let sum = 0;
  let squares = 0;
  for (let y = top; y < top + size; y += 1) {
    for (let x = left; x < left + size; x += 1) {
      const at = y * width + x;
      const around = values[at - 1] + values[at + 1] + values[at - width] + values[at + width];
      const laplacian = around - 4 * values[at];
      sum += laplacian;
      squares += laplacian * laplacian;
    }
  }
  const count = size * size;
  return squares / count - (sum / count) ** 2;
}

/** The share of blocks that are white throughout. */
function glareShare({ values, width, height }) {
  let white = 0;
  let count = 0;
  for (let top = 0; top + block <= height; top += block) {
    for (let left = 0; left + block <= width; left += block) {
      let bright = 0;
      for (let y = top; y < top + block; y += 1) {
        for (let x = left; x < left + block; x += 1) {
          if (values[y * width + x] >= saturated) bright += 1;
        }
      }
      count += 1;
      if (bright > block * block * 0.95) white += 1;
    }
  }
  return count === 0 ? 0 : white / count;
}

/** Whether one side has nearly as many edges at the border as the middle: the document extends beyond it. */
function reachesBorder({ values, width, height }) {
  const strip = Math.max(2, Math.round(Math.min(width, height) * stripShare));
  const middle = edgeShare(values, width, {
    left: Math.round(width * 0.2),
    right: Math.round(width * 0.8),
    top: Math.round(height * 0.2),
    bottom: Math.round(height * 0.8),
  });
  if (middle < 0.02) return false;
  const sides = [
    { left: 1, right: width - 1, top: 1, bottom: strip },
    { left: 1, right: width - 1, top: height - strip, bottom: height - 1 },
    { left: 1, right: strip, top: 1, bottom: height - 1 },
    { left: width - strip, right: width - 1, top: 1, bottom: height - 1 },
  ];
  return sides.some((side) => edgeShare(values, width, side) > middle * cutMin);
}

function edgeShare(values, width, { left, right, top, bottom }) {
  let edges = 0;
  let count = 0;
  for (let y = top; y < bottom; y += 1) {
    for (let x = left; x < right; x += 1) {
      const at = y * width + x;
      const across = Math.abs(values[at + 1] - values[at - 1]);
      const down = Math.abs(
        (values[at + width] ?? values[at]) - (values[at - width] ?? values[at]),
      );
      if (across + down > edgeMin) edges += 1;
      count += 1;
    }
  }
  return count === 0 ? 0 : edges / count;
}
