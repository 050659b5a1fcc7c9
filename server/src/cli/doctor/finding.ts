/** One line of the doctor: what was looked at, and if it is wrong, what to do. */
export type Finding = { readonly isFine: boolean; readonly text: string };

export const fine = (text: string): Finding => ({ isFine: true, text });
export const wrong = (text: string): Finding => ({ isFine: false, text });

/** An error as a sentence. Node's and the driver's name hosts, roles and paths, never values. */
export function explain(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
