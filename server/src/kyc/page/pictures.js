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

/** Throws PictureProblem when the browser cannot read the file as a picture. */
export async function readPicture(file) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { imageOrientation: 'from-image' });
  } catch {
    throw new PictureProblem('notAPicture');
  }
  try {
    return await encode(bitmap, bitmap.width, bitmap.height);
  } finally {
    bitmap.close();
  }
}

export function takePicture(video) {
  return encode(video, video.videoWidth, video.videoHeight);
}

async function encode(source, width, height) {
  if (Math.min(width, height) < shortSideMin) throw new PictureProblem('tooSmall');
  const scale = Math.min(1, sideMax / Math.max(width, height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext('2d');
  // JPEG has no transparency; the background is white, as on the server.
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  for (const quality of qualities) {
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', quality));
    if (blob !== null && blob.size <= bytesMax) return blob;
  }
  throw new PictureProblem('notAPicture');
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
      width: { ideal: 1920 },
      height: { ideal: 1440 },
    },
  });
}

export function closeCamera(stream) {
  for (const track of stream.getTracks()) track.stop();
}
