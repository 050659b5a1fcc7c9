import { existsSync, mkdirSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Makes a folder and what is missing above it. `mkdir` of Node with `recursive` never ends where a folder
 * exists in which nothing can be made, such as /proc.
 *
 * @throws the system's error where it cannot be made, or is a file.
 */
export function makeFolder(path: string, mode = 0o777): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (isCode(error, 'EEXIST') && statSync(path).isDirectory()) return;
    const above = dirname(path);
    if (!isCode(error, 'ENOENT') || above === path || existsSync(above)) throw error;
    makeFolder(above, mode);
    makeFolder(path, mode);
  }
}

/**
 * Makes the folder, and something in it for a moment: rights alone do not show what a mount or /proc
 * allows.
 *
 * @throws the system's error where that fails.
 */
export function requireWritable(path: string, mode?: number): void {
  makeFolder(path, mode);
  rmdirSync(mkdtempSync(join(path, '.writable-')));
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
