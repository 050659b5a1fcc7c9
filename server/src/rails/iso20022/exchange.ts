import type { Folder } from '../kit/folder.ts';

/** A folder that the rail shares with the bank, on this machine or on an SFTP server. */
export type ExchangeFolder = Pick<Folder, 'path' | 'list' | 'read' | 'put' | 'move'>;

export const folderNames = ['outbox', 'inbox', 'archive', 'quarantine'] as const;
export type FolderName = (typeof folderNames)[number];

export type Exchange = Readonly<Record<FolderName, ExchangeFolder>> & AsyncDisposable;
