import {
  formatMagicData,
  formatMagicDocument,
  makeMagicRows,
} from '../server/src/attributes/sandbox-values.ts';

/** The sandbox's values as the files that hold them, by their paths in the repository. */
export function generateSandboxValues(): Map<string, string> {
  const rows = makeMagicRows();
  return new Map([
    ['server/src/rails/sandbox/magic-values.json', formatMagicData(rows)],
    ['docs/sandbox-values.md', formatMagicDocument(rows)],
  ]);
}
