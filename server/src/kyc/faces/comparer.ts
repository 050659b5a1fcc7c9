import { join } from 'node:path';
import { z } from 'zod';
import { withWorker } from '../confined-worker.ts';
import { faceFaults } from './face-fault.ts';
import { areFacesInstalled, facesFolder } from './face-packages.ts';

/** Compares the face of a selfie with the portrait of a document, offline, in a confined process. */

const places = ['selfie', 'document'] as const;

/** Why two faces were not compared. */
export const notComparedReasons = [
  'switched_off',
  'not_installed',
  ...places.flatMap((place) => faceFaults.map((fault) => `${place}_${fault}` as const)),
] as const;
export type NotComparedReason = (typeof notComparedReasons)[number];

export type FaceComparison =
  /** 0 for the same picture; different people are mostly above 0.6. */
  { readonly distance: number } | { readonly reason: NotComparedReason };

/** Start of the process and loading the models included; the process is killed then. */
const timeMaxMs = 80_000;

/** Models and pictures as tensors: twice the most that was seen, 1,048 MiB for a group of people. */
const memoryBytesMax = 2 * 1024 ** 3;

const answerSchema = z.union([
  z.object({ distance: z.number().min(0).max(10) }),
  z.object({ picture: z.enum(places), fault: z.enum(faceFaults) }),
]);

export type FacePictures = {
  readonly selfie: Uint8Array;
  readonly document: readonly Uint8Array[];
};

/** @throws WorkerError */
export async function compareFaces(
  pictures: FacePictures,
  stopping?: AbortSignal,
): Promise<FaceComparison> {
  if (!areFacesInstalled()) return { reason: 'not_installed' };
  const worker = {
    module: join(import.meta.dirname, 'faces-worker.ts'),
    name: 'the comparison of faces',
    answer: answerSchema,
    timeMaxMs,
    readable: [facesFolder],
    bytesMax: memoryBytesMax,
  };
  const answer = await withWorker(worker, (ask) => ask(pictures), stopping);
  return 'distance' in answer ? answer : { reason: `${answer.picture}_${answer.fault}` };
}
