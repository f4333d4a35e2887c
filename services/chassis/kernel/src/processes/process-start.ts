import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hasCode } from '../errors.ts';

/**
 * Returns when a running process started, as the operating system formats it; undefined if there is no such process, and for a zombie. The
 * start time and the pid together identify a process even if the pid is reused.
 */
export function processStart(pid: number): string | undefined {
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid);
}

function startFromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field of the stat file, the command in parentheses, may contain spaces and parentheses.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return undefined;
    // Field 22 of the stat file counts clock ticks since boot, so the boot id has to be added.
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${fields[18]}`;
  } catch (error) {
    // ESRCH: the process ended between opening and reading the file.
    if (hasCode(error, 'ENOENT', 'ESRCH')) return undefined;
    throw error;
  }
}

function startFromPs(pid: number): string | undefined {
  try {
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { env, encoding: 'utf8' }).trim();
    const [state = '', ...start] = line.split(/\s+/);
    return state === '' || state.startsWith('Z') ? undefined : start.join(' ');
  } catch {
    return undefined;
  }
}
