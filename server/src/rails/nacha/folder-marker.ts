import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { type Folder, FolderError } from '../kit/folder.ts';
import { openRecords } from '../kit/records.ts';

/**
 * A file that is gone from the outbox counts as taken by the bank, and an empty inbox as no returns. A
 * file system that is not mounted looks the same. So every folder gets a marker file of a random name,
 * which is stored: where it is missing, nothing is concluded from what the folder lacks.
 *
 * @throws FolderError where the folder is not the one that it was.
 */
export async function assureFolder({ store }: RailHost, folder: Folder): Promise<void> {
  const marker = await findMarker(store, folder);
  if (marker === undefined) {
    await placeMarker(store, folder);
  } else if (!(await folder.has(marker))) {
    throw new FolderError(describeLack(folder, marker));
  }
}

/** What is wrong with a folder that has its marker already; undefined when nothing is. */
export async function findMarkerFault(
  { store }: RailHost,
  folder: Folder,
): Promise<string | undefined> {
  const marker = await findMarker(store, folder);
  if (marker === undefined || (await folder.has(marker))) return undefined;
  return describeLack(folder, marker);
}

function describeLack({ path }: Folder, marker: string): string {
  return `${path} lacks the file ${marker} and may not be mounted; if it is the right one, create it`;
}

function openMarkers(store: RailHost['store']) {
  const value = z.object({ marker: z.string() });
  return openRecords(store, { collection: 'folders', states: ['marked'], value });
}

async function findMarker(store: RailHost['store'], folder: Folder): Promise<string | undefined> {
  return (await openMarkers(store).find(formatKey(folder)))?.value.marker;
}

async function placeMarker(store: RailHost['store'], folder: Folder): Promise<void> {
  const marker = `.outlay-${randomUUID().slice(0, 8)}`;
  await folder.put(marker, new Uint8Array(0));
  const seen = { key: formatKey(folder), revision: 0 };
  // Another process may be faster: its marker is the one that counts.
  await store.write([openMarkers(store).change(seen, { state: 'marked', value: { marker } })]);
}

/** Keys of the store are not encrypted, and a path may hold anything. */
function formatKey({ path }: Folder): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 32);
}
