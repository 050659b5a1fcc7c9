import { once } from 'node:events';
import { join } from 'node:path';
import { z } from 'zod';
import { forkConfined } from '../decoder-confinement.ts';
import { areFacesInstalled, facesFolder } from './face-packages.ts';
import { faceFaults } from './find-face.ts';

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
  z.object({ isFailed: z.literal(true) }),
]);

/** The process ended, hung or failed: the faces may be compared again later. */
export class ComparerError extends Error {}

export type FacePictures = {
  readonly selfie: Uint8Array;
  readonly document: readonly Uint8Array[];
};

/** @throws ComparerError */
export async function compareFaces(
  pictures: FacePictures,
  stopping?: AbortSignal,
): Promise<FaceComparison> {
  if (!areFacesInstalled()) return { reason: 'not_installed' };
  const limit = AbortSignal.timeout(timeMaxMs);
  const signal = stopping === undefined ? limit : AbortSignal.any([limit, stopping]);
  const child = await forkConfined(join(import.meta.dirname, 'faces-worker.ts'), {
    readable: [facesFolder],
    bytesMax: memoryBytesMax,
  });
  const ended = once(child, 'exit').catch(() => undefined);
  try {
    const answered = once(child, 'message', { signal });
    child.send(pictures);
    const [message] = (await Promise.race([answered, failAt(ended)])) as unknown[];
    const answer = answerSchema.parse(message);
    if ('isFailed' in answer) throw new ComparerError('the comparison of faces failed');
    return 'distance' in answer ? answer : { reason: `${answer.picture}_${answer.fault}` };
  } catch (cause) {
    throw cause instanceof ComparerError
      ? cause
      : new ComparerError('the comparison of faces did not answer', { cause });
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

async function failAt(ended: Promise<unknown>): Promise<never> {
  await ended;
  throw new ComparerError('the comparison of faces ended without an answer');
}
