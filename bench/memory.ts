import { readFileSync } from 'node:fs';

/**
 * The most memory that a process has had resident so far, in bytes, as Linux keeps it; undefined on
 * other systems. A sample at the end is the peak: nothing needs to be polled.
 */
export function readPeakBytes(processId: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${processId}/status`, 'utf8');
    const found = /^VmHWM:\s+(\d+) kB$/m.exec(status);
    return found === null ? undefined : Number(found[1]) * 1024;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
