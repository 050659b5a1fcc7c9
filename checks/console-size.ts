import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** What a browser loads before the console's first screen, compressed as the server sends it. */

const bytesMax = 250_000;
const folder = join(import.meta.dirname, '../web/console/dist');
const page = readFileSync(join(folder, 'index.html'), 'utf8');
const linked = [...page.matchAll(/(?:src|href)="\/console\/assets\/([^"]+)"/g)];
const names = new Set(linked.map(([, name = '']) => name));
// The overview is the first page; its part is loaded by the router.
const own = readdirSync(join(folder, 'assets')).filter((name) =>
  /^overview-.+\.(?:js|css)$/.test(name),
);
let total = 0;
for (const name of [...names, ...own]) {
  const bytes = readFileSync(join(folder, 'assets', name));
  // Fonts are compressed already.
  const size = name.endsWith('.woff2') ? bytes.length : gzipSync(bytes, { level: 9 }).length;
  total += size;
  process.stdout.write(`${String(size).padStart(8)}  ${name}\n`);
}
process.stdout.write(`${String(total).padStart(8)}  bytes for the first screen, of ${bytesMax}\n`);
if (names.size === 0 || total > bytesMax) process.exitCode = 1;
