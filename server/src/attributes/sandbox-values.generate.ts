import { writeFileSync } from 'node:fs';
import { formatMagicData, formatMagicDocument, makeMagicRows } from './sandbox-values.ts';

/** Writes the sandbox's values down: `node server/src/attributes/sandbox-values.generate.ts`. */

const rows = makeMagicRows();
writeFileSync(
  new URL('../rails/sandbox/magic-values.json', import.meta.url),
  formatMagicData(rows),
);
writeFileSync(
  new URL('../../../docs/sandbox-values.md', import.meta.url),
  formatMagicDocument(rows),
);
