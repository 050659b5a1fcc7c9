import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import type { Config } from '../../config.ts';
import type { EnvironmentName } from '../../core/access.ts';
import { placeMasterKey } from '../../environment/key.ts';
import { areScriptFontsInstalled } from '../../receipts/optional-fonts.ts';
import { explain, type Finding, fine, wrong } from './finding.ts';

/** What the machine has to offer: Node, a folder, ports. */

const freeBytesMin = 1024 ** 3;
const answerMsMax = 2_000;

export function checkNode(): Finding {
  const major = Number(process.versions.node.split('.', 1)[0]);
  return { isFine: major >= 24, text: `Node ${process.versions.node} (24 or newer is needed)` };
}

export function checkFonts(): Finding {
  return fine(
    areScriptFontsInstalled()
      ? 'receipts have fonts for all scripts'
      : 'receipts transliterate names in other scripts; npm run fonts installs their fonts',
  );
}

export function checkDataFolder(config: Config): Finding[] {
  const folder = config.OUTLAY_DATA;
  // The start makes a folder that is missing, where it may.
  const present = findPresent(folder);
  try {
    accessSync(present, constants.W_OK);
  } catch (error) {
    return [
      wrong(`${folder} cannot be written: ${explain(error)}; set OUTLAY_DATA to another folder`),
    ];
  }
  const { bavail, bsize } = statfsSync(present);
  const freeBytes = bavail * bsize;
  const free = `${Math.round(freeBytes / 1024 ** 2)} MB are free in ${folder}`;
  return [
    fine(`${folder} can be written`),
    freeBytes >= freeBytesMin ? fine(free) : wrong(`${free}: make room for 1024 MB`),
    ...config.OUTLAY_ENVIRONMENTS.split(',').flatMap((name) =>
      checkKeyMode(config, name as EnvironmentName),
    ),
  ];
}

function findPresent(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : findPresent(dirname(folder));
}

function checkKeyMode(config: Config, name: EnvironmentName): Finding[] {
  const { file } = placeMasterKey(config, name);
  if (!existsSync(file)) return [];
  const isPrivate = (statSync(file).mode & 0o077) === 0;
  return [
    isPrivate
      ? fine(`${file} is readable by its owner only`)
      : wrong(`${file} can be read by others: chmod 600 ${file}`),
  ];
}

/** The ports of the service and of a process that only works. 0 is always free. */
export async function checkPorts({ HOST, PORT, OUTLAY_WORK_PORT }: Config): Promise<Finding[]> {
  return [
    await checkPort(HOST, { setting: 'PORT', port: PORT }),
    await checkPort(HOST, { setting: 'OUTLAY_WORK_PORT', port: OUTLAY_WORK_PORT }),
  ];
}

async function checkPort(
  host: string,
  { setting, port }: { setting: string; port: number },
): Promise<Finding> {
  const place = `${setting} ${port} on ${host}`;
  const fault = await tryPort(host, port);
  if (fault === undefined) return fine(`${place} is free`);
  if (fault === 'EADDRINUSE' && (await isOutlay(host, port))) {
    return fine(`${place} is in use by an Outlay service; a second one needs another port`);
  }
  if (fault === 'EADDRINUSE') {
    return wrong(`${place} is in use by another program: end it or set another port`);
  }
  return wrong(`${place} cannot be listened on (${fault}): correct HOST or ${setting}`);
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
