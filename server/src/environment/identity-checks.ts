import { type CheckWorker, readNextDocument } from '../kyc/checks.ts';
import { compareNextFaces } from '../kyc/face-checks.ts';
import { createHttpProvider } from '../kyc/provider/http-provider.ts';
import type { IdentityProvider } from '../kyc/provider/provider.ts';
import { askProvider, requestOpinion } from '../kyc/provider-checks.ts';
import type { Foundation } from './foundation.ts';
import { readProviderUrl } from './provider-url.ts';

/** What an environment finds out about uploaded images, for the person who decides. */

export type IdentityChecks = {
  /** Reads the next document. Returns whether there may be more to do. */
  readNext(stopping: AbortSignal): Promise<boolean>;
  /** Compares the next faces, or says that they are not compared. */
  compareNext(stopping: AbortSignal): Promise<boolean>;
  /** Takes the next step with the provider; undefined without one. */
  readonly askNext: ((stopping: AbortSignal) => Promise<boolean>) | undefined;
};

/** @throws ConfigError */
export function openIdentityChecks(
  base: Foundation,
  onError: (error: unknown) => void,
): IdentityChecks {
  const { config, db, keys, clock } = base;
  const provider = openProvider(base);
  const afterReading = provider === undefined ? undefined : requestOpinion;
  const reading: CheckWorker = { db, keys, onError, afterReading };
  const faces = { db, keys, onError, isShown: config.OUTLAY_FACE_SIMILARITY === 'shown' };
  const now = (): Date => new Date(clock.nowMs());
  const approvesClear = config.OUTLAY_IDENTITY_CLEAR === 'approves';
  return {
    readNext: (stopping) => readNextDocument(reading, stopping),
    compareNext: (stopping) => compareNextFaces(faces, stopping),
    askNext:
      provider &&
      ((stopping) => askProvider({ db, keys, provider, approvesClear, now, onError }, stopping)),
  };
}

type ProviderParts = Pick<Foundation, 'config' | 'name' | 'fetch'>;

/** The provider of an environment, by the scheme of its setting. @throws ConfigError */
function openProvider({ config, name, fetch }: ProviderParts): IdentityProvider | undefined {
  const setting = name === 'live' ? 'OUTLAY_LIVE_IDENTITY_PROVIDER' : 'OUTLAY_IDENTITY_PROVIDER';
  const address = readProviderUrl(setting, config[setting]);
  return address && createHttpProvider({ ...address, fetch });
}
