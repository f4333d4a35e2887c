import { readFileSync } from 'node:fs';

/** In which Linux shows processor times, whatever its own is. */
const tickMs = 10;

/** What a process has used since its start, in ms, in all its threads. Undefined for none, and on systems other than Linux. */
export function processorMs(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field, the command in parentheses, may contain spaces and parentheses.
    const [user, system] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14);
    return (Number(user) + Number(system)) * tickMs;
  } catch {
    return undefined;
  }
}
