import { Screen } from '../command.ts';

/** One line of the doctor: what was checked, or a problem and how to fix it. */
export type Finding = { readonly isFine: boolean; readonly text: string };

export const passed = (text: string): Finding => ({ isFine: true, text });
export const problem = (text: string): Finding => ({ isFine: false, text });

/** Sets exit code 1 where there are problems. */
export function reportFindings(findings: readonly Finding[]): Screen {
  if (findings.some(({ isFine }) => !isFine)) process.exitCode = 1;
  return new Screen({ findings }, () => describeFindings(findings));
}

/** One line for each finding, and the number of problems. */
function describeFindings(findings: readonly Finding[]): string {
  const problems = findings.filter(({ isFine }) => !isFine).length;
  return [
    ...findings.map(({ isFine, text }) => `${isFine ? 'ok     ' : 'PROBLEM'} ${text}`),
    problems === 1 ? '1 problem found.' : `${problems} problems found.`,
  ].join('\n');
}

/** The message of an error. Those of Node and the driver name hosts, roles and paths, no secrets. */
export function formatCause(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
