import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The optional package with the fonts of other scripts, which `npm run fonts` installs. */

const folder = new URL('../../../fonts/', import.meta.url);

export const requireOptional = createRequire(new URL('package.json', folder));

/** Whether all scripts have fonts, and not only those of the base fonts. */
export function areScriptFontsInstalled(): boolean {
  // npm writes this file last.
  return existsSync(fileURLToPath(new URL('node_modules/.package-lock.json', folder)));
}
