import { readdirSync, readFileSync } from 'node:fs';

export interface FoundProcess {
  pid: number;
  command: string;
}

/** Every process of this machine whose environment speaks of this folder: what was started in it, whoever its parent is by now. */
export function processesOf(folder: string): FoundProcess[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/u.test(name) || Number(name) === process.pid) return [];
    const environment = read(`/proc/${name}/environ`);
    return environment.includes(folder) ? [{ pid: Number(name), command: read(`/proc/${name}/cmdline`) }] : [];
  });
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // it ended meanwhile, or is somebody else's
  }
}
