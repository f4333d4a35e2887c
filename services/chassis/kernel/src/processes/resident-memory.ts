import { readFileSync } from 'node:fs';

/**
 * Returns the resident memory of a process in MB, as the kernel reports it. Undefined if there is no such process, and on other systems
 * than Linux.
 */
export function residentMb(pid: number | undefined): number | undefined {
  if (pid === undefined) return undefined;
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1_024;
  } catch {
    return undefined;
  }
}
