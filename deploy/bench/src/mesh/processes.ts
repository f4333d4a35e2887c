import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Flags for all processes of a mesh, so that `collectedMemoryKb` can have them collect what is garbage. */
export const collectingOptions = `--expose-gc --import ${fileURLToPath(new URL('./collect-on-signal.ts', import.meta.url))}`;

/** Long enough for what was closed or opened to be done with, and for a collection. */
const settleMs = 1_500;
const tickMs = 10;

/** The processes that this one has started and whose command line has this text. */
export function childrenOf(pid: number, text: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/u.test(name)) return [];
    try {
      const parent = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1];
      const isOurs = Number(parent) === pid && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text);
      return isOurs ? [Number(name)] : [];
    } catch {
      return []; // it ended meanwhile
    }
  });
}

/** The process among these that was started with this setting. @throws Error where none was. */
export function startedWith(pids: number[], name: string, value: string): number {
  const found = pids.find((pid) =>
    readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${name}=${value}`),
  );
  if (found === undefined) throw new Error(`No process has ${name}=${value}`);
  return found;
}

/** What all threads of a process have used so far. */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** What is resident of all these together, after a collection. */
export async function collectedMemoryKb(pids: number[]): Promise<number> {
  await delay(settleMs);
  for (const pid of pids) process.kill(pid, 'SIGUSR2');
  await delay(settleMs);
  return pids.reduce((sum, pid) => sum + residentKb(pid), 0);
}

function residentKb(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
