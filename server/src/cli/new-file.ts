import { z } from 'zod';
import { ConfigError } from '../config.ts';
import { isSystemError } from '../db/embedded/error.ts';
import { option } from './options.ts';

/** Commands that write a file refuse to overwrite one: it may be kept as evidence. */

export const newFile = option({ value: 'path', about: 'new file' }, z.string());

/** @throws ConfigError where the file exists, or cannot be written there. */
export async function writeNewFile<Result>(write: () => Promise<Result>): Promise<Result> {
  try {
    return await write();
  } catch (cause) {
    if (isSystemError(cause, 'EEXIST')) {
      throw new ConfigError('--file names a file that exists: give the path of a new one', {
        cause,
      });
    }
    if (isSystemError(cause, 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS')) {
      throw new ConfigError('--file must be in a folder that exists and can be written', { cause });
    }
    throw cause;
  }
}
