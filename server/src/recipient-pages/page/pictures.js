import { judge, judgedWidth } from './quality.js';

/** Pictures from a file or the camera, reduced for sending: JPEG, upright, without metadata. */

const sideMax = 2600;
const shortSideMin = 200;
const bytesMax = 7_000_000;
const qualities = [0.9, 0.8, 0.65, 0.5];

export class PictureProblem extends Error {
  constructor(key) {
    super(key);
    this.key = key;
  }
}

/** `{ blob, hints }`. Throws PictureProblem when the browser cannot read the file as a picture. */
export async function readPicture(file, type) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { imageOrientation: 'from-image' });
  } catch {
    throw new PictureProblem('verify.notAPicture');
  }
  try {
    const whole = { x: 0, y: 0, width: bitmap.width, height: bitmap.height };
    return await encode(bitmap, whole, type);
  } finally {
    bitmap.close();
  }
}

/** What is inside `frame`, an element over the video, and nothing else. */
export function takePicture(video, { frame, type }) {
  return encode(video, cropOf(video, frame), type);
}

/** The part of the video's own pixels that the frame shows; the video covers its element. */
export function cropOf(video, frame) {
  const outer = video.getBoundingClientRect();
  const inner = frame.getBoundingClientRect();
  const scale = Math.max(outer.width / video.videoWidth, outer.height / video.videoHeight);
  const left = (outer.width - video.videoWidth * scale) / 2;
  const top = (outer.height - video.videoHeight * scale) / 2;
  return {
    x: Math.max(0, (inner.left - outer.left - left) / scale),
    y: Math.max(0, (inner.top - outer.top - top) / scale),
    width: Math.min(video.videoWidth, inner.width / scale),
    height: Math.min(video.videoHeight, inner.height / scale),
  };
}

function draw(source, crop, width) {
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(width);
  canvas.height = Math.round((crop.height * width) / crop.width);
  const context = canvas.getContext('2d');
  // JPEG has no transparency; the background is white, as on the server.
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  const { x, y, width: w, height: h } = crop;
  context.drawImage(source, x, y, w, h, 0, 0, canvas.width, canvas.height);
  return { canvas, context };
}

async function encode(source, crop, type) {
  if (Math.min(crop.width, crop.height) < shortSideMin) throw new PictureProblem('verify.tooSmall');
  const scale = Math.min(1, sideMax / Math.max(crop.width, crop.height));
  const { canvas } = draw(source, crop, crop.width * scale);
  for (const quality of qualities) {
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', quality));
    if (blob !== null && blob.size <= bytesMax) return { blob, hints: judgeCanvas(canvas, type) };
  }
  throw new PictureProblem('verify.notAPicture');
}

function judgeCanvas(canvas, type) {
  const whole = { x: 0, y: 0, width: canvas.width, height: canvas.height };
  const small = draw(canvas, whole, Math.min(judgedWidth, canvas.width));
  return judge(small.context.getImageData(0, 0, small.canvas.width, small.canvas.height), type);
}

/** The blob's bytes as Base64 text (RFC 4648 section 4). */
export function readBase64(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => reject(reader.error ?? new Error('the file cannot be read'));
    reader.readAsDataURL(blob);
  });
}

/** Whether the page can use a camera, which needs HTTPS (or localhost) and a browser with support. */
export function hasCamera() {
  return navigator.mediaDevices?.getUserMedia !== undefined;
}

/** The back camera for documents, the front one for the face, at high resolution. */
export function openCamera(type) {
  return navigator.mediaDevices.getUserMedia({
    audio: false,
    video: {
      facingMode: type === 'face' ? 'user' : 'environment',
      width: { ideal: 2560 },
      height: { ideal: 1920 },
    },
  });
}

export function closeCamera(stream) {
  for (const track of stream.getTracks()) track.stop();
}
