import sharp from 'sharp';
import type { FaceFault } from './face-fault.ts';
import { type FaceApi, loadFaceApi } from './face-packages.ts';
import { findPortraits, findSelfie } from './find-face.ts';

/**
 * The process that compares two faces, started by `comparer.ts`. It has no secrets, no database and no
 * network, and answers one number.
 */

sharp.cache(false);
sharp.concurrency(1);

export type CompareRequest = {
  readonly selfie: Uint8Array;
  /** The sides of the document; the first with a face counts. */
  readonly document: readonly Uint8Array[];
};
export type CompareAnswer =
  | { readonly distance: number }
  | { readonly picture: 'selfie' | 'document'; readonly fault: FaceFault }
  | { readonly isFailed: true };

let loaded: Promise<FaceApi> | undefined;

process.on('message', (request: CompareRequest) => {
  void answer(request);
});
process.on('disconnect', () => process.exit(0));

async function answer(request: CompareRequest): Promise<void> {
  let result: CompareAnswer;
  try {
    loaded ??= loadFaceApi();
    result = await compare(await loaded, request);
  } catch {
    // The message may quote the picture, so it is dropped.
    result = { isFailed: true };
  }
  process.send?.(result);
}

async function compare(api: FaceApi, { selfie, document }: CompareRequest): Promise<CompareAnswer> {
  const own = await findSelfie(api, selfie);
  if ('fault' in own) return { picture: 'selfie', fault: own.fault };
  for (const side of document) {
    const portrait = await findPortraits(api, side);
    if ('descriptors' in portrait) {
      const distances = portrait.descriptors.map((descriptor) =>
        api.euclideanDistance(own.descriptor, descriptor),
      );
      return { distance: Math.min(...distances) };
    }
    if (portrait.fault !== 'no_face') return { picture: 'document', fault: portrait.fault };
  }
  return { picture: 'document', fault: 'no_face' };
}
