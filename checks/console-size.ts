import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFirstPaint, parseFirstPaint } from '../server/src/console/first-paint.ts';

/** What a browser loads before the console's first screen, compressed as the server sends it. */

const bytesMax = 250_000;
const folder = join(import.meta.dirname, '../web/console/dist');
const page = readFileSync(join(folder, 'index.html'), 'utf8');
const painted = parseFirstPaint(readFileSync(join(folder, 'first-paint.json'), 'utf8'));
// What the first answer of the overview names, and the font that its styles do.
const { head } = findFirstPaint(painted, { pathname: '', hasSession: true });
const linked = [...(page + head).matchAll(/(?:src|href)="\/console\/assets\/([^"]+)"/g)];
const names = new Set(linked.map(([, name = '']) => name));
// And what those import; parts that are loaded later are imported by a call.
for (const name of names) {
  if (!name.endsWith('.js')) continue;
  const script = readFileSync(join(folder, 'assets', name), 'utf8');
  const imported = script.matchAll(/(?:from|import)"\.\/([^"]+\.js)"/g);
  for (const [, other = ''] of imported) names.add(other);
}
let total = 0;
for (const name of names) {
  const packed = join(folder, 'assets', `${name}.br`);
  const bytes = readFileSync(join(folder, 'assets', name));
  // Fonts and small files are not compressed by the build.
  const size = existsSync(packed) ? readFileSync(packed).length : bytes.length;
  total += size;
  process.stdout.write(`${String(size).padStart(8)}  ${name}\n`);
}
process.stdout.write(`${String(total).padStart(8)}  bytes for the first screen, of ${bytesMax}\n`);
if (linked.length === 0 || total > bytesMax) process.exitCode = 1;
