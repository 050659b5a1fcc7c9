import { type CheckWorker, checkNextPictures } from './checks.ts';
import { compareFaces } from './faces/comparer.ts';
import { writeComparison } from './faces/face-finding.ts';

/** Compares the face of an upload with the portrait on its document. The result decides nothing. */

export type FaceWorker = Pick<CheckWorker, 'db' | 'keys' | 'onError'> & {
  /** Otherwise an upload is marked as not compared, so that no reviewer waits for it. */
  readonly isShown: boolean;
  /** Tests replace it. */
  readonly compare?: typeof compareFaces;
};

/** Compares the next faces that wait. Returns whether there may be more. */
export function compareNextFaces(worker: FaceWorker, stopping: AbortSignal): Promise<boolean> {
  const { isShown, compare = compareFaces } = worker;
  return checkNextPictures(
    worker,
    {
      kind: 'face',
      find: async ({ selfie, document }) => {
        if (!isShown) return writeComparison({ reason: 'switched_off' });
        if (selfie === undefined) return writeComparison({ reason: 'selfie_no_face' });
        return writeComparison(await compare({ selfie, document }, stopping));
      },
    },
    stopping,
  );
}
