import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A secret as the operator's file names it: in a file of its own. */
export function writeSecret(
  folder: string,
  secret: { name: string; value: string },
): { file: string } {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${secret.name}.secret`);
  writeFileSync(file, `${secret.value}\n`, { mode: 0o600 });
  return { file };
}
