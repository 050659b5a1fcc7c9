import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import { RefusedCommand } from '../../config.ts';
import { measureLead } from '../../core/clock.ts';
import { findEnvironmentPlace } from '../../db/environment-place.ts';
import { getPublicUrl } from '../../environment/public-url.ts';
import type { ExclusiveResource } from '../../rails/contract/contract.ts';
import { listRailExclusives } from '../../rails/host/exclusives.ts';
import { secretContext } from '../../rails/host/open.ts';
import { readRailFile } from '../../rails/host/rail-config.ts';

import type { CommandContext } from '../context.ts';

import {
  type CellDescription,
  type DescribedExclusive,
  hashExclusive,
  identifySalt,
} from './description.ts';

/** Describes this installation, from where its processes run: with their settings and folders. */

/** @throws RefusedCommand where the installation has no name or no address. */
export async function describeCell(
  context: CommandContext,
  salt: string,
): Promise<CellDescription> {
  const { config, name: environment, db, keys, realNowMs } = context;
  const { OUTLAY_CELL: cell } = config;
  const publicUrl = getPublicUrl(config, environment);
  if (cell === undefined || publicUrl === '') {
    const missing = cell === undefined ? 'OUTLAY_CELL' : 'OUTLAY_PUBLIC_URL';
    throw new RefusedCommand(`a cell must have ${missing}: set it for all processes of the cell`);
  }
  const beforeMs = realNowMs();
  const place = await findEnvironmentPlace(db.system);
  const afterMs = realNowMs();
  const rails = await listOfRails(context);
  const found = [
    { what: 'the PostgreSQL server', value: place.server },
    { what: 'the database', value: `${place.server} ${place.database}` },
    { what: 'the environment key', value: keys.signing.id },
    { what: 'the master key', value: keys.masterKeyId },
    ...listFolders(context),
    ...rails.found,
  ];
  const described = found.map((one) => describeExclusive(salt, one));
  return {
    format: 'outlay-cell-1',
    cell,
    environment,
    described_at: new Date(afterMs).toISOString(),
    database_ahead_ms: Math.round(
      measureLead(place.now.getTime(), { beganMs: beforeMs, endedMs: afterMs }),
    ),
    release: readRelease(),
    schema: place.schema,
    public_url: publicUrl,
    signing_key_id: keys.signing.id,
    salt_id: identifySalt(salt),
    exclusives: described.flatMap((one) => ('fault' in one ? [] : [one])),
    faults: [
      ...described.flatMap((one) => ('fault' in one ? [one.fault] : [])),
      ...rails.faults,
    ].map(toLine),
  };
}

/** A fault may name a file, whose name may hold anything. */
const toLine = (text: string): string =>
  text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ').slice(0, 500);

function listFolders({ config }: CommandContext): ExclusiveResource[] {
  const { OUTLAY_DATA: data, OUTLAY_CHECKPOINTS: checkpoints, OUTLAY_ERASURES: erasures } = config;
  // Without a setting, the others are in the data folder.
  return [
    { what: 'the data folder (OUTLAY_DATA)', folder: data },
    ...(checkpoints === undefined
      ? []
      : [{ what: 'the folder of checkpoints (OUTLAY_CHECKPOINTS)', folder: checkpoints }]),
    ...(erasures === undefined
      ? []
      : [{ what: 'the folder of erasures (OUTLAY_ERASURES)', folder: erasures }]),
  ];
}

async function listOfRails({ config, name, keys }: CommandContext) {
  const path = config[name === 'live' ? 'OUTLAY_LIVE_RAILS' : 'OUTLAY_RAILS'];
  if (path === undefined) return { found: [], faults: [] };
  const file = readRailFile(path, {
    readVariable: config.readVariable,
    openSealed: (sealed) => keys.open(sealed, secretContext),
  });
  const { exclusives, faults } = await listRailExclusives(file.configs);
  return {
    found: exclusives.map(({ rail, resource }) => ({
      ...resource,
      what: `${resource.what} of rail ${rail}`,
      kind: resource.what,
    })),
    faults: [...file.faults, ...faults].map(({ text }) => text),
  };
}

/** `kind` without the rail, whose name another cell may have for something else. */
type Found = ExclusiveResource & { readonly kind?: string };

function describeExclusive(salt: string, found: Found): DescribedExclusive | { fault: string } {
  const { what, kind = what } = found;
  if (!('folder' in found)) {
    const place = found.isLocal === true ? ` at ${hostname()}` : '';
    return { what, hash: hashExclusive(salt, kind, found.value + place) };
  }
  const identity = identifyFolder(found.folder);
  // Two folders of one rail, or of two, may be the same one.
  if (identity !== undefined) return { what, hash: hashExclusive(salt, 'folder', identity) };
  return { fault: `${what} is not there` };
}

/**
 * A path says little: every container may have its own folder there. A directory that several machines
 * or containers mount has one inode and one time of creation for all of them.
 */
function identifyFolder(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat?.isDirectory() === true ? `${stat.ino} ${stat.birthtimeNs}` : undefined;
}

const packageSchema = z.object({ version: z.string() });

/** The version of the package of the service. */
function readRelease(): string {
  const file = new URL('../../../package.json', import.meta.url);
  return packageSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).version;
}
