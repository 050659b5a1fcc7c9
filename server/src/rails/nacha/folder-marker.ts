import { createHash, randomUUID } from 'node:crypto';
import type { RailHost } from '../contract/contract.ts';
import { createEmpty, FolderError, hasFile } from './folder-exchange.ts';

/**
 * What is no longer in a folder counts as taken by the bank, and an empty inbox as no returns. A
 * file system that was not mounted looks just like that. So every folder gets a marker of a random
 * name, which the store remembers: without it nothing is concluded from what the folder lacks.
 */
const collection = 'folders';

/** @throws FolderError where the folder is not the one that it was. */
export async function assureFolder({ store }: RailHost, folder: string): Promise<void> {
  const marker = await findMarker(store, folder);
  if (marker === undefined) {
    await placeMarker(store, folder);
  } else if (!(await hasFile(folder, marker))) {
    throw new FolderError(describeLack(folder, marker));
  }
}

/** What is wrong with a folder that has its marker already; undefined when nothing is. */
export async function findMarkerFault(
  { store }: RailHost,
  folder: string,
): Promise<string | undefined> {
  const marker = await findMarker(store, folder);
  if (marker === undefined || (await hasFile(folder, marker))) return undefined;
  return describeLack(folder, marker);
}

function describeLack(folder: string, marker: string): string {
  return `${folder} lacks the file ${marker} and may not be mounted; if it is the right one, create it`;
}

async function findMarker(store: RailHost['store'], folder: string): Promise<string | undefined> {
  const record = await store.get(collection, nameFolder(folder));
  return (record?.value as { marker: string } | undefined)?.marker;
}

async function placeMarker(store: RailHost['store'], folder: string): Promise<void> {
  const marker = `.outlay-${randomUUID().slice(0, 8)}`;
  await createEmpty(folder, marker);
  const next = { state: 'marked', value: { marker } };
  // Another process may be faster: its marker is the one that counts.
  await store.write([{ collection, key: nameFolder(folder), revision: 0, next }]);
}

/** Keys of the store are in the clear, and a path may say anything. */
function nameFolder(folder: string): string {
  return createHash('sha256').update(folder).digest('hex').slice(0, 32);
}
