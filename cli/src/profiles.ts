import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Credential } from '../../sdk/src/index.ts';
import { exitCodes, Failure, UsageError } from './failure.ts';

/**
 * Named addresses with their credentials, in `$XDG_CONFIG_HOME/outlay/config.json` (XDG Base
 * Directory 0.8; `~/.config` without the variable), which only its owner can read.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

/** As stored, and as the service writes `staging.json`. */
type StoredProfile = {
  readonly base_url: string;
  readonly api_key?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
};

export type Profiles = {
  readonly default?: string | undefined;
  readonly profiles: Readonly<Record<string, StoredProfile>>;
};

export type Profile = {
  readonly name: string;
  readonly baseUrl: string;
  readonly credential: Credential;
};

/** The Demo account of a service that runs in this folder, or in one above. */
export const localName = 'local';

/** @throws UsageError for a file that is not as `saveProfiles` writes it. */
export function readProfiles(environment: Environment): Profiles {
  const path = findConfigFile(environment);
  return existsSync(path) ? readJson(path, isProfiles) : { profiles: {} };
}

export function saveProfiles(environment: Environment, profiles: Profiles): string {
  const path = findConfigFile(environment);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // A new file under another name, so that the mode holds and a reader never sees half of it.
  const written = `${path}.${process.pid}`;
  writeFileSync(written, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
  renameSync(written, path);
  return path;
}

/**
 * The profile that `--profile` names, else `OUTLAY_URL` with `OUTLAY_KEY`, else the profile of
 * `OUTLAY_PROFILE`, else the default one, else the local service's. `OUTLAY_KEY` alone goes before
 * the key of a stored profile.
 *
 * @throws Failure where there is none; UsageError where a key would go to an address that it
 * was not given for.
 */
export function chooseProfile(environment: Environment, given: string | undefined): Profile {
  const { OUTLAY_URL: baseUrl, OUTLAY_KEY: apiKey, OUTLAY_PROFILE: usual } = environment;
  const isNamed = given !== undefined;
  if (!isNamed && baseUrl && apiKey) {
    return { name: 'environment', baseUrl, credential: { apiKey } };
  }
  if (!isNamed && baseUrl) throw new UsageError('OUTLAY_KEY must be set together with OUTLAY_URL');
  const name = given ?? (usual || undefined);
  if (!isNamed && apiKey) {
    const stored = findStored(environment, name);
    if (stored !== undefined) return { ...stored, credential: { apiKey } };
    // A file in this folder, or in one above, must not choose the address that gets the key.
    throw new UsageError('OUTLAY_URL must be set together with OUTLAY_KEY: no profile is stored');
  }
  const found = findProfile(environment, name);
  if (found !== undefined) return found;
  throw new Failure('No profile is set up, and no local service was found', {
    exitCode: exitCodes.credential,
    code: 'no_profile',
    next: 'outlay login, or run this in the folder of `npm start`',
  });
}

function findProfile(environment: Environment, given: string | undefined): Profile | undefined {
  const stored = findStored(environment, given);
  if (stored !== undefined) return stored;
  const name = given ?? readProfiles(environment).default ?? localName;
  const path = name === localName ? findStagingFile(environment) : undefined;
  if (path !== undefined) {
    return { name, ...readStored(readJson(path, isStoredProfile)) };
  }
  if (given === undefined) return undefined;
  throw new UsageError(`There is no profile ${given}`, 'outlay profile list');
}

function findStored(environment: Environment, given: string | undefined): Profile | undefined {
  const { default: usual, profiles } = readProfiles(environment);
  const name = given ?? usual ?? localName;
  const stored = profiles[name];
  return stored === undefined ? undefined : { name, ...readStored(stored) };
}

/** Of a service that `npm start` runs: in its data folder, for which the default is `.outlay`. */
export function findStagingFile(environment: Environment): string | undefined {
  const data = environment['OUTLAY_DATA'];
  if (data) return [join(data, 'staging.json')].find(existsSync);
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const path = join(folder, '.outlay/staging.json');
    if (existsSync(path)) return path;
    if (folder === dirname(folder)) return undefined;
  }
}

function readStored(stored: StoredProfile): Pick<Profile, 'baseUrl' | 'credential'> {
  const { base_url: baseUrl, api_key: apiKey, client_id: clientId = '' } = stored;
  return {
    baseUrl,
    credential:
      apiKey === undefined ? { clientId, clientSecret: stored.client_secret ?? '' } : { apiKey },
  };
}

function findConfigFile(environment: Environment): string {
  const given = environment['XDG_CONFIG_HOME'];
  const folder = given?.startsWith('/') ? given : join(homedir(), '.config');
  return join(folder, 'outlay/config.json');
}

/** @throws UsageError that names the file; its content can be a key. */
function readJson<Value>(path: string, isExpected: (value: unknown) => value is Value): Value {
  const value = parse(path);
  if (isExpected(value)) return value;
  throw new UsageError(
    `${path} does not have the expected form. Correct it, or remove it and log in again`,
  );
}

function parse(path: string): unknown {
  const text = readFileSync(path, 'utf8');
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text around the fault, which can be a key.
    throw new UsageError(`${path} is not valid JSON. Correct it, or remove it and log in again`);
  }
}

function isProfiles(value: unknown): value is Profiles {
  return (
    isObject(value) &&
    isOptionalText(value['default']) &&
    isObject(value['profiles']) &&
    Object.values(value['profiles']).every(isStoredProfile)
  );
}

function isStoredProfile(value: unknown): value is StoredProfile {
  return (
    isObject(value) &&
    typeof value['base_url'] === 'string' &&
    ['api_key', 'client_id', 'client_secret'].every((name) => isOptionalText(value[name]))
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isOptionalText = (value: unknown): boolean =>
  value === undefined || typeof value === 'string';
