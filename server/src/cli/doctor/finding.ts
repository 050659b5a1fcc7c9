/** One line of the doctor: what was checked, or a problem and how to fix it. */
export type Finding = { readonly isFine: boolean; readonly text: string };

export const passed = (text: string): Finding => ({ isFine: true, text });
export const problem = (text: string): Finding => ({ isFine: false, text });

/** One line for each finding; sets exit code 1 where there are problems. */
export function describeFindings(findings: readonly Finding[]): string {
  const problems = findings.filter(({ isFine }) => !isFine).length;
  if (problems > 0) process.exitCode = 1;
  return [
    ...findings.map(({ isFine, text }) => `${isFine ? 'ok     ' : 'PROBLEM'} ${text}`),
    problems === 1 ? '1 problem found.' : `${problems} problems found.`,
  ].join('\n');
}

/** The message of an error. Those of Node and the driver name hosts, roles and paths, no secrets. */
export function formatCause(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
