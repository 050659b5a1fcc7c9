import { existsSync, statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import type { Config } from '../../config.ts';
import type { EnvironmentName } from '../../core/access.ts';
import { requireWritable } from '../../db/make-folder.ts';
import { listEnvironments } from '../../environment/databases.ts';
import { placeMasterKey } from '../../environment/master-keys.ts';
import type { Confinement } from '../../kyc/decoder-confinement.ts';
import { areFacesInstalled } from '../../kyc/faces/face-packages.ts';
import { isReaderInstalled } from '../../kyc/reading/ocr-packages.ts';
import { describeMissingEngine, isEngineInstalled } from '../../receipts/engine.ts';
import { areScriptFontsInstalled } from '../../receipts/optional-fonts.ts';
import { type Finding, formatCause, passed, problem } from './finding.ts';

/** The machine: Node, the data folder, ports. */

const freeBytesMin = 1024 ** 3;
const answerMsMax = 2_000;

export function checkNode(): Finding {
  const major = Number(process.versions.node.split('.', 1)[0]);
  return { isFine: major >= 24, text: `Node ${process.versions.node} (must be 24 or newer)` };
}

export function checkUser(config: Config, uid: number | undefined): Finding {
  if (uid !== 0) return passed('the service does not run as root');
  return listEnvironments(config).includes('live')
    ? problem('live must not run as root: start it as a user of its own')
    : passed('the service runs as root, which staging may; live may not');
}

export function checkDecoder(config: Config, { words, lacks }: Confinement): Finding {
  if (words.length === 0 && listEnvironments(config).includes('live')) {
    return problem(
      'images of live are decoded without limits and with the network: prlimit, setpriv and unshare of util-linux are missing or may not run here',
    );
  }
  return passed(
    lacks.length === 0
      ? 'images are decoded by another user, without a network, with limits'
      : `images are decoded in a process of their own, but without: ${lacks.join('; ')}`,
  );
}

export function checkFonts(): Finding {
  if (!isEngineInstalled()) {
    return passed(`receipts and statements as PDF are answered 406: ${describeMissingEngine()}`);
  }
  return passed(
    areScriptFontsInstalled()
      ? 'receipts have fonts for all scripts'
      : 'receipts transliterate names in other scripts; npm run fonts installs their fonts',
  );
}

export function checkFaces({ OUTLAY_FACE_SIMILARITY: setting }: Config): Finding {
  if (setting === 'off') return passed('faces are not compared (OUTLAY_FACE_SIMILARITY)');
  return areFacesInstalled()
    ? passed('faces are compared for the reviewer; the score decides nothing')
    : problem('faces cannot be compared: npm run faces installs what compares them');
}

export function checkReader(): Finding {
  return passed(
    isReaderInstalled()
      ? 'identity documents are read for the reviewer'
      : 'identity documents are not read for the reviewer; npm run ocr installs what reads them',
  );
}

export function checkDataFolder(config: Config): Finding[] {
  const folder = config.OUTLAY_DATA;
  // A missing folder is created at the start.
  const present = findNearestFolder(folder);
  const unwritable = findUnwritable('OUTLAY_DATA', folder);
  if (unwritable !== undefined) return [unwritable];
  const { bavail, bsize } = statfsSync(present);
  const freeBytes = bavail * bsize;
  const free = `${folder} has ${Math.round(freeBytes / 1024 ** 2)} MB of free space`;
  return [
    passed(`${folder} is writable`),
    freeBytes >= freeBytesMin ? passed(free) : problem(`${free}: it needs 1024 MB`),
    ...checkNamedFolders(config),
    ...listEnvironments(config).flatMap((name) => checkKeyMode(config, name)),
  ];
}

/** Folders of their own, which the start requires too. */
function checkNamedFolders({ OUTLAY_CHECKPOINTS, OUTLAY_ERASURES }: Config): Finding[] {
  return Object.entries({ OUTLAY_CHECKPOINTS, OUTLAY_ERASURES }).flatMap(([setting, folder]) =>
    folder === undefined
      ? []
      : (findUnwritable(setting, folder) ?? passed(`${setting}: ${folder} is writable`)),
  );
}

function findUnwritable(setting: string, folder: string): Finding | undefined {
  try {
    requireWritable(findNearestFolder(folder));
    return undefined;
  } catch (error) {
    return problem(
      `${folder} is not writable: ${formatCause(error)}; set ${setting} to another folder`,
    );
  }
}

function findNearestFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder
    ? folder
    : findNearestFolder(dirname(folder));
}

function checkKeyMode(config: Config, name: EnvironmentName): Finding[] {
  const { file } = placeMasterKey(config, name);
  if (!existsSync(file)) return [];
  const isPrivate = (statSync(file).mode & 0o077) === 0;
  return [
    isPrivate
      ? passed(`${file} is readable by its owner only`)
      : problem(`${file} can be read by others: chmod 600 ${file}`),
  ];
}

/** The ports of the service, of a process in the role `work`, and of a health thread. 0 is always free. */
export async function checkPorts(config: Config): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const setting of ['PORT', 'OUTLAY_WORK_PORT', 'OUTLAY_HEALTH_PORT'] as const) {
    const port = config[setting];
    if (port !== undefined) findings.push(await checkPort(config.HOST, { setting, port }));
  }
  return findings;
}

async function checkPort(
  host: string,
  { setting, port }: { setting: string; port: number },
): Promise<Finding> {
  const place = `${setting} ${port} on ${host}`;
  const fault = await tryPort(host, port);
  if (fault === undefined) return passed(`${place} is free`);
  if (fault === 'EADDRINUSE' && (await isOutlay(host, port))) {
    return passed(`${place} is in use by an Outlay service; another process needs another port`);
  }
  if (fault === 'EADDRINUSE') {
    return problem(`${place} is in use by another program: stop that program or set another port`);
  }
  return problem(`${place} cannot be opened (${fault}): correct HOST or ${setting}`);
}

function tryPort(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

async function isOutlay(host: string, port: number): Promise<boolean> {
  const name = host.includes(':') ? `[${host}]` : host;
  try {
    const answer = await fetch(`http://${name}:${port}/health/live`, {
      signal: AbortSignal.timeout(answerMsMax),
    });
    return (await answer.text()).startsWith('{"status":"ok"') || answer.headers.has('x-request-id');
  } catch {
    return false;
  }
}
