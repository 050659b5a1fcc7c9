import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type Config, ConfigError } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import { type MasterKey, type MasterKeys, readMasterKey } from '../core/sealing.ts';

/**
 * Where an environment's master keys come from: the output of a command (which asks a key management
 * service or an HSM), a setting, or a file in the data folder. In each, the newest key is the first one;
 * older ones follow while data is still sealed under them.
 */

export type KeySource = {
  readonly kind: 'command' | 'setting' | 'file';
  /** For messages. */
  readonly place: string;
  readonly variable: string;
  readonly file: string;
  /** The setting, or the command. */
  readonly given: string | undefined;
};

export function placeMasterKey(config: Config, name: EnvironmentName): KeySource {
  const variable = name === 'live' ? 'OUTLAY_LIVE_MASTER_KEY' : 'OUTLAY_MASTER_KEY';
  const file = join(config.OUTLAY_DATA, `${name}.key`);
  const command = config[`${variable}_COMMAND`];
  const value = config[variable];
  if (command !== undefined && value !== undefined) {
    throw new ConfigError(`only one of ${variable} and ${variable}_COMMAND may be set`);
  }
  if (command !== undefined) {
    return { kind: 'command', place: `${variable}_COMMAND`, variable, file, given: command };
  }
  if (value !== undefined)
    return { kind: 'setting', place: variable, variable, file, given: value };
  return { kind: 'file', place: file, variable, file, given: undefined };
}

const commandMsMax = 30_000;

/** The master keys in Base64, the newest first. @throws ConfigError. */
export function readEncodedKeys(source: KeySource): string[] {
  const { kind, given = '' } = source;
  const text =
    kind === 'file' ? readKeyFile(source) : kind === 'setting' ? given : runKeyCommand(source);
  const encoded = text.split(/[\s,]+/).filter((key) => key !== '');
  const isWhole = encoded.every((key) => Buffer.from(key, 'base64').length === 32);
  if (encoded.length === 0 || !isWhole) {
    throw new ConfigError(
      `${source.place} must give keys of 32 bytes in Base64, the newest one first`,
    );
  }
  return encoded;
}

/** What it prints to the standard error is shown; what it prints else is never in a message. */
function runKeyCommand({ place, given = '' }: KeySource): string {
  try {
    return execFileSync('/bin/sh', ['-c', given], {
      encoding: 'utf8',
      timeout: commandMsMax,
      maxBuffer: 65_536,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  } catch (error) {
    const { status, code } = error as { status?: number | null; code?: string };
    const why = typeof status === 'number' ? `it ended with ${status}` : (code ?? 'it was stopped');
    // The error itself holds what the command printed.
    throw new ConfigError(`${place} gave no master key: ${why}`);
  }
}

/** @throws ConfigError where others than its owner may read it. */
function readKeyFile({ file, variable }: KeySource): string {
  if (!existsSync(file)) {
    throw new ConfigError(`the master key is missing: set ${variable} or restore ${file}`);
  }
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new ConfigError(`${file} can be read by others: chmod 600 ${file}`);
  }
  return readFileSync(file, 'utf8');
}

/** How long another process may wrap with the key that was the newest one before. */
export const refreshMs = 2_000;

/** Follows the file, so that a rotation needs no restart; a setting or a command is read once. */
export function openMasterKeys(source: KeySource, nowMs: () => number): MasterKeys {
  let keys = decodeKeys(readEncodedKeys(source));
  if (source.kind !== 'file') return { list: () => keys };
  let readAtMs = nowMs();
  const refresh = (): void => {
    readAtMs = nowMs();
    keys = decodeKeys(readEncodedKeys(source));
  };
  const tryRefresh = (): void => {
    try {
      refresh();
    } catch (error) {
      // The keys that were read at the start still open everything.
      if (!(error instanceof ConfigError)) throw error;
    }
  };
  return {
    list: () => {
      if (nowMs() - readAtMs >= refreshMs) tryRefresh();
      return keys;
    },
    refresh: tryRefresh,
  };
}

export function decodeKeys(encoded: readonly string[]): MasterKey[] {
  return encoded.map((key) => readMasterKey(Buffer.from(key, 'base64')));
}

/** The first key of a new environment. Of several processes, the first one's key wins. */
export function createKeyFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  // The key is on disk before the database records it, because without it all personal data is lost.
  const draft = writeDraft(file, [randomBytes(32).toString('base64')]);
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  unlinkSync(draft);
  syncFolder(file);
}

/** Replaces the keys in the file as a whole. */
export function writeKeyFile(file: string, encoded: readonly string[]): void {
  renameSync(writeDraft(file, encoded), file);
  syncFolder(file);
}

function writeDraft(file: string, encoded: readonly string[]): string {
  const draft = `${file}.${process.pid}`;
  const descriptor = openSync(draft, 'w', 0o600);
  writeSync(descriptor, `${encoded.join('\n')}\n`);
  fsyncSync(descriptor);
  closeSync(descriptor);
  return draft;
}

function syncFolder(file: string): void {
  const folder = openSync(dirname(file), 'r');
  fsyncSync(folder);
  closeSync(folder);
}
