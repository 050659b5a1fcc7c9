import { z } from 'zod';
import { type FaceComparison, type NotComparedReason, notComparedReasons } from './comparer.ts';

/** The finding about two faces that a reviewer sees. */

export const faceResults = ['waiting', 'compared', 'not_compared', 'failed'] as const;
export const similarities = ['high', 'medium', 'low'] as const;

export type FaceFinding = {
  readonly result: (typeof faceResults)[number];
  readonly similarity: (typeof similarities)[number] | '';
  /** 0.00 to 1.00. */
  readonly score: string;
  readonly reason: NotComparedReason | '';
};

/**
 * The author of the model calls two faces below 0.6 those of one person. Pictures of different people
 * that we tried were as near as 0.46 (decision 64), so that only less is called high.
 */
const highBelow = 0.4;
const mediumBelow = 0.6;

const stored = z.union([
  z.object({ distance: z.number() }),
  z.object({ reason: z.enum(notComparedReasons) }),
]);

export function writeComparison(comparison: FaceComparison): string {
  return JSON.stringify(comparison);
}

const nothing = { similarity: '', score: '', reason: '' } as const;

/** `check` is undefined for an upload that was made before faces were compared. */
export function describeFaces(
  check: { readonly state: string; readonly opened: string | undefined } | undefined,
): FaceFinding {
  if (check === undefined) return { ...nothing, result: 'not_compared', reason: 'switched_off' };
  if (check.opened === undefined) {
    return { ...nothing, result: check.state === 'failed' ? 'failed' : 'waiting' };
  }
  const comparison = stored.parse(JSON.parse(check.opened));
  if ('reason' in comparison) {
    return { ...nothing, result: 'not_compared', reason: comparison.reason };
  }
  const { distance } = comparison;
  const similarity =
    distance < highBelow ? 'high' : distance < mediumBelow ? 'medium' : ('low' as const);
  const score = Math.max(0, 1 - distance).toFixed(2);
  return { result: 'compared', similarity, score, reason: '' };
}
