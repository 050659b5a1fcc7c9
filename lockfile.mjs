/**
 * What a lockfile must be before anything is installed by it. Built-in modules only, because nothing
 * is installed yet; the checks of the repository use it too.
 */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

/** Of npm 7 and newer: every package has its entry, with its own dependencies. */
const lockfileVersion = 3;
const sha512 = /^sha512-[A-Za-z0-9+/]{86}==$/;
const exactVersion = /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/;
/**
 * Optional packages of which the registry had no such version when the lockfile was written: the
 * compiler of receipts for machines other than Linux on x64.
 */
const absent = /^@myriaddreamin\/typst-ts-node-compiler-(?!linux-x64)/;
const declared = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];

/**
 * The faults of the folder's `package-lock.json`, each as a sentence; empty where it is whole. It is
 * whole when it repeats what each `package.json` declares, when every dependency has an entry, those
 * for other kinds of machines included, and every entry an exact version and a SHA-512 hash and no
 * address of its own, so that packages come from the configured registry only.
 */
export function findLockfileFaults(folder) {
  const path = join(folder, 'package-lock.json');
  if (!fs.existsSync(path)) return ['the file is missing'];
  let lockfile;
  try {
    lockfile = JSON.parse(fs.readFileSync(path, 'utf8'));
  } catch (error) {
    return [`it is not JSON: ${error.message}`];
  }
  const { packages } = lockfile;
  if (lockfile.lockfileVersion !== lockfileVersion || packages?.[''] === undefined) {
    return [`it must have version ${lockfileVersion} (npm 7 or newer)`];
  }
  return Object.entries(packages).flatMap(([place, entry]) => [
    ...(isOurs(place)
      ? findUndeclared(folder, { place, entry })
      : findEntryFaults(packages, { place, entry })),
    ...findGaps(packages, { place, entry }),
  ]);
}

/** The workspace itself and its packages, which come from here. */
function isOurs(place) {
  return !`/${place}`.includes('/node_modules/');
}

function findUndeclared(folder, { place, entry }) {
  const path = join(folder, place, 'package.json');
  if (!fs.existsSync(path)) return [`${place} has an entry and no package.json`];
  const manifest = JSON.parse(fs.readFileSync(path, 'utf8'));
  return declared
    .filter((field) => !isDeepStrictEqual(manifest[field] ?? {}, entry[field] ?? {}))
    .map((field) => `${join(place, 'package.json')} declares other ${field} than the lockfile`);
}

function findEntryFaults(packages, { place, entry }) {
  const { version = '', integrity = '', resolved, link, inBundle } = entry;
  if (link === true) {
    return isOurs(resolved) && packages[resolved] !== undefined
      ? []
      : [`${place} links to ${resolved}, which is no package of this workspace`];
  }
  const faults = [];
  if (!exactVersion.test(version)) faults.push(`${place} has no exact version`);
  // What a package brings along is part of its archive, and of its hash.
  if (inBundle !== true && !sha512.test(integrity)) faults.push(`${place} has no SHA-512 hash`);
  if (resolved !== undefined) faults.push(`${place} names an address of its own: ${resolved}`);
  return faults;
}

function findGaps(packages, { place, entry }) {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = entry;
  const peers = Object.keys(peerDependencies ?? {}).filter(
    (name) => peerDependenciesMeta?.[name]?.optional !== true,
  );
  const ofWorkspace = isOurs(place) ? Object.keys(entry.devDependencies ?? {}) : [];
  const wanted = [dependencies, optionalDependencies].flatMap((record) =>
    Object.keys(record ?? {}),
  );
  return [...new Set([...wanted, ...peers, ...ofWorkspace])]
    .filter((name) => !hasEntry(packages, { place, name }))
    .filter((name) => optionalDependencies?.[name] === undefined || !absent.test(name))
    .map((name) => `${name} has no entry, and ${place || 'package.json'} needs it`);
}

/** Looks where Node looks: beside what needs it, then further out. */
function hasEntry(packages, { place, name }) {
  for (let folder = place; ; folder = dirnameOfPackage(folder)) {
    if (packages[join(folder, 'node_modules', name)] !== undefined) return true;
    if (folder === '') return false;
  }
}

function dirnameOfPackage(place) {
  const end = place.lastIndexOf('node_modules/');
  return end <= 0 ? '' : place.slice(0, end - 1);
}
