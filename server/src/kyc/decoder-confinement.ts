import { type ChildProcess, execFile, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Confines the process that decodes images: another user, no network, no capabilities, limits of the
 * system, and Node's permission model. util-linux starts it, so that no native code of ours is needed.
 * Where a part is not to be had, the process runs without it and `doctor` says so.
 */

export type Confinement = {
  /** Programs, each with its words, that start one another and at last the decoder; none where they are missing. */
  readonly words: readonly string[];
  /** What the decoder lacks on this system, for operators. */
  readonly lacks: readonly string[];
};

/** Free by systemd's list of ranges, and not the one of the embedded database (61100 on). */
const decoderId = 61_090;

const MiB = 1024 ** 2;

/** Of memory: twice what the largest accepted image needs. */
const bytesMaxOfDecoders = 1024 * MiB;

/** No file may be written at all. */
const limits = {
  cpu: 120,
  fsize: 0,
  nofile: 64,
  core: 0,
};
/** Counted for all processes of a user, so only for one that has no others: threads of all decoders. */
const threadsMax = 512;

const programFolders = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'];

function findProgram(name: string): string | undefined {
  return programFolders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** JavaScript may read its own code and packages, write nothing, and start no process or thread. */
function listNodeOptions(more: readonly string[] = []): string[] {
  const sharp = createRequire(import.meta.url).resolve('sharp');
  const packages = sharp.slice(0, sharp.lastIndexOf('/node_modules/') + '/node_modules'.length);
  const server = join(import.meta.dirname, '../..');
  const readable = [import.meta.dirname, packages, join(server, 'package.json'), ...more];
  const root = join(dirname(server), 'package.json');
  return [
    '--disable-warning=ExperimentalWarning',
    '--disable-warning=SecurityWarning',
    '--permission',
    '--allow-addons',
    ...[...readable, root].map((path) => `--allow-fs-read=${path}`),
  ];
}

type Parts = { ownUser: boolean; ownNetwork: boolean };

/** Undefined where a program is missing. */
function formWords({ ownUser, ownNetwork }: Parts): string[] | undefined {
  const [prlimit, unshare, setpriv] = ['prlimit', 'unshare', 'setpriv'].map(findProgram);
  if (prlimit === undefined || setpriv === undefined || unshare === undefined) return undefined;
  const all = ownUser ? { ...limits, nproc: threadsMax } : limits;
  const isRoot = process.getuid?.() === 0;
  const user = [`--reuid=${decoderId}`, `--regid=${decoderId}`, '--clear-groups'];
  return [
    prlimit,
    ...Object.entries(all).map(([name, value]) => `--${name}=${value}:${value}`),
    ...(ownNetwork ? [unshare, ...(isRoot ? [] : ['--user']), '--net'] : []),
    setpriv,
    ...(ownUser ? [...user, '--bounding-set=-all'] : []),
    '--inh-caps=-all',
    '--no-new-privs',
  ];
}

/** `prlimit` is the first program; what a process needs depends on its module. */
function limitMemory([prlimit, ...words]: readonly string[], bytesMax: number): string[] {
  return prlimit === undefined ? [] : [prlimit, `--data=${bytesMax}:${bytesMax}`, ...words];
}

/** Whether the decoder's code loads there: a clone in a private home is closed to another user. */
function canLoad(words: readonly string[]): Promise<boolean> {
  const limited = limitMemory(words, bytesMaxOfDecoders);
  const [program = '', ...rest] = [...limited, process.execPath, ...listNodeOptions()];
  const script = `require(${JSON.stringify(createRequire(import.meta.url).resolve('sharp'))})`;
  const options = { cwd: '/', env: {}, timeout: 20_000 };
  return new Promise((resolve) => {
    execFile(program, [...rest, '-e', script], options, (error) => resolve(error === null));
  });
}

async function planConfinement(): Promise<Confinement> {
  const isRoot = process.getuid?.() === 0;
  const candidates: Parts[] = [
    ...(isRoot ? [{ ownUser: true, ownNetwork: true }] : []),
    ...(isRoot ? [{ ownUser: true, ownNetwork: false }] : []),
    { ownUser: false, ownNetwork: true },
    { ownUser: false, ownNetwork: false },
  ];
  for (const parts of candidates) {
    const words = formWords(parts);
    if (words === undefined || !(await canLoad(words))) continue;
    const user = isRoot
      ? 'another user (its code is closed to others)'
      : 'another user (needs root)';
    return {
      words,
      lacks: [
        ...(parts.ownUser ? [] : [user]),
        ...(parts.ownNetwork ? [] : ['a network namespace (not permitted here)']),
      ],
    };
  }
  return {
    words: [],
    lacks: ['another user', 'a network namespace', 'limits', 'no new privileges'],
  };
}

let planned: Promise<Confinement> | undefined;

/** The best that this system permits, tried once. */
export function findConfinement(): Promise<Confinement> {
  planned ??= planConfinement();
  return planned;
}

/**
 * Starts a module in a confined process that speaks with this one by messages. It may read the given
 * folders too, and take `bytesMax` of memory.
 */
export async function forkConfined(
  modulePath: string,
  options: { readonly readable?: readonly string[]; readonly bytesMax?: number } = {},
): Promise<ChildProcess> {
  const { readable = [], bytesMax = bytesMaxOfDecoders } = options;
  const confinement = await findConfinement();
  const [program = process.execPath, ...words] = limitMemory(confinement.words, bytesMax);
  const node = program === process.execPath ? [] : [process.execPath];
  return fork(modulePath, {
    serialization: 'advanced',
    execPath: program,
    execArgv: [...words, ...node, ...listNodeOptions(readable)],
    cwd: '/',
    // None of the service's settings; one heap, so that freed pages are reused.
    env: { MALLOC_ARENA_MAX: '1', UV_THREADPOOL_SIZE: '1' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}
