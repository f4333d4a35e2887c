import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@parley/testing/eventually';

/**
 * Kills the background processes that work in these folders.
 * @returns the pids of the killed processes
 * @throws Error if a process does not end
 */
export async function endProcessesIn(folders: readonly string[]): Promise<number[]> {
  const killed = new Set<number>();
  await eventually('the processes that work in these folders have ended', () => {
    const pids = processesIn(folders);
    for (const pid of pids) {
      killed.add(pid);
      kill(pid);
    }
    return pids.length === 0;
  });
  return [...killed];
}

function processesIn(folders: readonly string[]): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/u.test(name));
  return pids.filter((pid) => isBackgroundProcessIn(folders, pid)).map(Number);
}

function isBackgroundProcessIn(folders: readonly string[], pid: string): boolean {
  try {
    const folder = readlinkSync(join('/proc', pid, 'cwd'));
    if (!folders.some((each) => folder === each || folder.startsWith(`${each}/`))) return false;
    const fields = readFileSync(join('/proc', pid, 'stat'), 'utf8')
      .replace(/^.*\) /su, '')
      .split(' ');
    const terminal = fields[4];
    return terminal === '0'; // processes with a terminal are people's shells
  } catch {
    return false; // the process has ended
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has just ended.
  }
}
