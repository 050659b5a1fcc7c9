/** One line of the doctor: what was checked, or a problem and how to fix it. */
export type Finding = { readonly isFine: boolean; readonly text: string };

export const passed = (text: string): Finding => ({ isFine: true, text });
export const problem = (text: string): Finding => ({ isFine: false, text });

/** The message of an error. Those of Node and the driver name hosts, roles and paths, no secrets. */
export function formatCause(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
