import sharp from 'sharp';
import type { FaceFault } from './face-fault.ts';
import type { FaceApi, Tensor } from './face-packages.ts';

/** Finds the one face of a picture. Runs in the confined process. */

/** The numbers that describe a face never leave the process. */
export type FoundFace = { readonly fault: FaceFault } | { readonly descriptor: Float32Array };

const sideMax = 1_600;
/** The detector's own measure of how sure it is. */
const confidenceMin = 0.7;
/** Pixels of the picture; the model looks at 150, and a face enlarged too far is invented. */
const widthMin = 80;
/** Documents repeat the portrait small, and passers-by are behind a person; a smaller face is ignored. */
const rivalShare = 0.6;

const quarterTurns = [0, 90, 270, 180] as const;

/** The first turn with a face: people hold a camera upright, and the picture was turned by its own data. */
export async function findSelfie(api: FaceApi, bytes: Uint8Array): Promise<FoundFace> {
  for (const degrees of quarterTurns) {
    const found = await findAt(api, { bytes, degrees });
    if (!('fault' in found) || found.fault !== 'no_face') return found;
  }
  return { fault: 'no_face' };
}

/**
 * The faces in each turn of a document. It can lie on its side, and the detector also finds many a face
 * that does, where its description is worth little: the turn that fits best is to be taken.
 */
export async function findPortraits(
  api: FaceApi,
  bytes: Uint8Array,
): Promise<{ readonly fault: FaceFault } | { readonly descriptors: readonly Float32Array[] }> {
  const turns: FoundFace[] = [];
  for (const degrees of quarterTurns) {
    const turn = await findAt(api, { bytes, degrees });
    // Whatever the other turns have: each of them would take another half second.
    if ('fault' in turn && turn.fault === 'several_faces') return turn;
    turns.push(turn);
  }
  const faults = turns.flatMap((turn) => ('fault' in turn ? [turn.fault] : []));
  const descriptors = turns.flatMap((turn) => ('descriptor' in turn ? [turn.descriptor] : []));
  if (descriptors.length > 0) return { descriptors };
  return { fault: faults.includes('too_small') ? 'too_small' : 'no_face' };
}

async function findAt(api: FaceApi, turned: Turned): Promise<FoundFace> {
  const options = new api.SsdMobilenetv1Options({ minConfidence: confidenceMin, maxResults: 5 });
  const faces = await onPicture(api, turned, (picture) =>
    api.detectAllFaces(picture, options).withFaceLandmarks().withFaceDescriptors(),
  );
  const [largest, second] = faces.toSorted((a, b) => widthOf(b) - widthOf(a));
  if (largest === undefined) return { fault: 'no_face' };
  const width = widthOf(largest);
  if (second !== undefined && widthOf(second) > width * rivalShare) {
    return { fault: 'several_faces' };
  }
  return width < widthMin ? { fault: 'too_small' } : { descriptor: largest.descriptor };
}

const widthOf = (face: { detection: { box: { width: number } } }): number =>
  face.detection.box.width;

type Turned = { readonly bytes: Uint8Array; readonly degrees: number };

async function onPicture<Result>(
  api: FaceApi,
  { bytes, degrees }: Turned,
  look: (picture: Tensor) => PromiseLike<Result>,
): Promise<Result> {
  const { data, info } = await sharp(bytes, { failOn: 'error' })
    .rotate(degrees)
    .resize({ width: sideMax, height: sideMax, fit: 'inside', withoutEnlargement: true })
    .removeAlpha()
    .toColourspace('srgb')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const picture = api.tf.tensor3d(new Uint8Array(data), [height, width, channels], 'int32');
  try {
    return await look(picture);
  } finally {
    picture.dispose();
  }
}
