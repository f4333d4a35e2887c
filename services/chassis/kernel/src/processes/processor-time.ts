import { readFileSync } from 'node:fs';

/** The unit of processor times in /proc, in ms; it does not depend on the kernel's internal tick. */
const tickMs = 10;

/**
 * Returns the processor time of all threads of a process since its start, in ms. Undefined if there is no such process, and on other
 * systems than Linux.
 */
export function processorMs(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field of the stat file, the command in parentheses, may contain spaces and parentheses.
    const [user, system] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14);
    return (Number(user) + Number(system)) * tickMs;
  } catch {
    return undefined;
  }
}
