import type { EnvironmentName } from '../core/access.ts';
import { AppError } from '../core/errors.ts';

/**
 * Bounds the uploads received at the same time, because images are held in memory while they arrive
 * and a batch occupies the database. Environments and kinds are counted separately, with a limit
 * for each account and each verification link.
 */

export type UploadKind = 'images' | 'batches';

/** Whose upload it is; `linkId` if a verification link is the credential. */
export type UploadOwner = { readonly accountId: string; readonly linkId?: string };

type Limits = { total: number; perAccount: number };

export const uploadLimits: Readonly<Record<UploadKind, Limits>> = {
  images: { total: 6, perAccount: 2 },
  batches: { total: 16, perAccount: 4 },
};

const perLink = 1;
const retryAfterSeconds = 2;

export type UploadSlots = {
  /**
   * Takes a slot and returns a function that frees it and may be called more than once.
   *
   * @throws AppError unavailable.
   */
  take(upload: { environment: EnvironmentName; kind: UploadKind; owner: UploadOwner }): () => void;
};

export function createUploadSlots(): UploadSlots {
  const taken = new Map<string, number>();
  const count = (name: string): number => taken.get(name) ?? 0;
  return {
    take: ({ environment, kind, owner }) => {
      const { total, perAccount } = uploadLimits[kind];
      const pool = `${environment} ${kind}`;
      // Uploads through links do not use up the account's own slots.
      const isLink = owner.linkId !== undefined;
      const account = `${pool} ${owner.accountId}${isLink ? ' links' : ''}`;
      const limits: [name: string, max: number, detail: string][] = [
        [pool, total, `The service already receives ${total} uploads of this kind. Retry later.`],
        [
          account,
          perAccount,
          `The account already has ${perAccount} uploads of this kind in progress`,
        ],
      ];
      if (isLink) {
        const detail = 'This verification link already has an upload in progress';
        limits.unshift([`${pool} link ${owner.linkId}`, perLink, detail]);
      }
      for (const [name, max, detail] of limits) {
        if (count(name) >= max) throw new AppError('unavailable', detail, { retryAfterSeconds });
      }
      for (const [name] of limits) taken.set(name, count(name) + 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        for (const [name] of limits) {
          if (count(name) > 1) taken.set(name, count(name) - 1);
          else taken.delete(name);
        }
      };
    },
  };
}
