/**
 * Where files are left for the bank and found from it: folders that both sides see. Every step may
 * be repeated, and a file appears under its name only when it is whole.
 */
export type Exchange = {
  /** Leaves a file. The same again changes nothing; `taken`: other bytes have the name, and stay. */
  put(name: string, bytes: Uint8Array): Promise<'left' | 'taken'>;
  /** What the bank left, in the order of names. */
  list(): Promise<readonly InboxFile[]>;
  /** @throws Error when it is longer than that. */
  read(name: string, bytesMax: number): Promise<Uint8Array>;
  /** Takes a file out of the inbox, to where what was read lies. */
  archive(name: string, label: string): Promise<void>;
  /** Takes it to where a person will look at it. */
  quarantine(name: string, label: string): Promise<void>;
  /** The files of a folder, in the order of their names; those that are unfinished are left out. */
  listFolder(folder: 'outbox' | 'archive' | 'quarantine'): Promise<readonly FolderFile[]>;
  /** A file that lies in one of these folders. @throws Error when it is longer than that. */
  readFrom(folder: 'outbox' | 'archive', name: string, bytesMax: number): Promise<Uint8Array>;
  /** Leaves a copy of a payment file in the archive, as `put` does in the outbox. */
  keep(name: string, bytes: Uint8Array): Promise<'left' | 'taken'>;
  [Symbol.asyncDispose](): Promise<void>;
};

export type InboxFile = {
  readonly name: string;
  readonly sizeBytes: number;
  /** Changes when the file does; only compared. */
  readonly changedAt: string;
};

export type FolderFile = {
  readonly name: string;
  /** When it was written, by the clock of whoever wrote it; milliseconds. */
  readonly writtenAtMs: number;
};

export type ExchangeOptions = {
  /**
   * Sub folders may be made, because none was ever used. Later a missing one is a fault: the share
   * that held them may not be mounted.
   */
  readonly mayCreateFolders: boolean;
};

/** Names of whole files: neither hidden, nor marked as unfinished, nor leading elsewhere. */
export function isFileName(name: string): boolean {
  const isPlain = /^[^./\\\x00-\x1f][^/\\\x00-\x1f]{0,200}$/.test(name);
  return isPlain && !/\.(?:part|tmp|filepart)$/i.test(name);
}

/** The name while a file is being written, which both sides ignore. */
export function nameUnfinished(name: string): string {
  return `.${name}.part`;
}

/** Far more than a bank leaves between two looks; the rest waits for the next one. */
export const filesPerPassMax = 200;
