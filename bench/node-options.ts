/** What docs/operations.md advises for a server; `npm start` gives less memory, for a laptop. */
export const serverOptions = [
  '--no-allocation-site-pretenuring',
  '--min-semi-space-size=16',
  '--max-semi-space-size=16',
] as const;
