import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processStart } from '@parley/kernel/process-start';

/** Who holds a folder. */
interface Holder {
  pid: number;
  /** When that process started, in the words of the operating system: a later process with the same pid differs. */
  startedAt: string;
  /** Tells this claim from every other one. */
  claim: string;
  /** Where the holder's socket is; whoever takes over from a killed holder removes it. */
  socketFolder: string;
}

export interface FolderLock {
  release(): void;
}

/**
 * Takes `folder` for this process, or throws an error that names the folder and the process that has it.
 * A lock whose process is gone is taken over at once, and its socket folder handed to `removeLeftover`.
 */
export function lockFolder(
  folder: string,
  socketFolder: string,
  removeLeftover: (socketFolder: string) => void,
): FolderLock {
  const lock = join(folder, 'lock');
  const claim = randomUUID();
  const mine: Holder = { pid: process.pid, startedAt: processStart(process.pid) ?? '', claim, socketFolder };
  // Written aside and linked into place, so that nobody ever reads half a lock.
  const written = join(folder, `claim-${claim}`);
  writeFileSync(written, JSON.stringify(mine), { mode: 0o600 });
  try {
    take(lock);
  } finally {
    rmSync(written, { force: true });
  }
  return {
    release() {
      if (readHolder(lock)?.claim === claim) rmSync(lock);
    },
  };

  /**
   * A dead holder's file may be removed only by the one who holds the right to, which is a lock of its own named after
   * that claim, taken in the same way. So of two starters that find the same dead lock, the slower one can never remove
   * the lock that the faster one has put in its place.
   */
  function take(path: string): void {
    while (!linked(written, path)) {
      const holder = readHolder(path);
      if (holder === undefined) continue;
      if (processStart(holder.pid) === holder.startedAt) throw heldError(folder, holder);
      const right = `${path}.${holder.claim}`;
      take(right);
      try {
        if (readHolder(path)?.claim === holder.claim) {
          rmSync(path);
          removeLeftover(holder.socketFolder);
        }
      } finally {
        rmSync(right);
      }
    }
  }
}

function heldError(folder: string, holder: Holder): Error {
  const who = holder.pid === process.pid ? `this process (${holder.pid})` : `process ${holder.pid}`;
  return new Error(`The data folder ${folder} is in use by ${who}. Stop that first, or choose another folder.`);
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

function readHolder(path: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new Error(`The lock ${path} cannot be read; remove it if no process uses this folder.`, { cause: error });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
