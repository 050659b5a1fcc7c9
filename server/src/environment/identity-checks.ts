import { type Config, ConfigError } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import { type CheckWorker, readNextDocument } from '../kyc/checks.ts';
import { compareNextFaces } from '../kyc/face-checks.ts';
import { createHttpProvider } from '../kyc/provider/http-provider.ts';
import type { IdentityProvider } from '../kyc/provider/provider.ts';
import { askProvider, requestOpinion } from '../kyc/provider-checks.ts';
import { findUrlFault } from '../webhooks/addresses.ts';
import type { Foundation } from './foundation.ts';

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
export function openProvider({ config, name, fetch }: ProviderParts): IdentityProvider | undefined {
  const { setting, text } = readSetting(config, name);
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const token = decodeURIComponent(url?.password ?? '');
  if (url === null || url.username !== '' || !/^[\x21-\x7e]+$/.test(token)) {
    const form = 'https://:token@host/path';
    throw new ConfigError(`${setting} must be a URL with a token as its password: ${form}`);
  }
  url.password = '';
  // An adapter on the same machine may stand between; other private addresses are refused.
  const fault = findUrlFault(url.href, { isLoopbackAllowed: true });
  if (fault !== undefined) throw new ConfigError(`${setting} ${fault}`);
  return createHttpProvider({ url: url.href, token, fetch });
}

function readSetting(config: Config, name: EnvironmentName) {
  const setting = name === 'live' ? 'OUTLAY_LIVE_IDENTITY_PROVIDER' : 'OUTLAY_IDENTITY_PROVIDER';
  return { setting, text: config[setting] };
}
