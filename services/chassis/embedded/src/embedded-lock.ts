import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '@parley/kernel/errors';
import { processStart } from '@parley/kernel/processes/process-start';

/** The process that has locked a data folder. */
interface Holder {
  pid: number;
  /** The holder's start time, as the operating system reports it. It is compared because the system can reuse a pid. */
  startedAt: string;
  /** The unique id of this attempt to lock the folder. */
  claim: string;
  /** The folder of the holder's socket. A process that takes over from a killed holder removes this folder. */
  socketFolder: string;
}

export type FolderLock = ReturnType<typeof lockFolder>;

/**
 * Locks `folder` for this process, or throws an error that names the folder and the process that holds it. The lock of a dead process is
 * taken over at once, and the dead process's socket folder is passed to `removeLeftover`.
 */
export function lockFolder(folder: string, socketFolder: string, removeLeftover: (socketFolder: string) => void) {
  const lock = join(folder, 'lock');
  const claim = randomUUID();
  const mine: Holder = { pid: process.pid, startedAt: processStart(process.pid) ?? '', claim, socketFolder };
  // The lock is written to another file and then linked into place, so that no process can read an incomplete lock.
  const written = join(folder, `claim-${claim}`);
  writeFileSync(written, JSON.stringify(mine), { mode: 0o600 });
  try {
    take(lock);
  } finally {
    rmSync(written, { force: true });
  }
  return {
    release(): void {
      if (readHolder(lock)?.claim === claim) rmSync(lock);
    },
  };

  /**
   * The lock of a dead holder is removed only under a second lock, which is named after the dead holder's claim and taken in the same way.
   * Otherwise the slower of two processes that find the same dead lock could remove the new lock of the faster one.
   */
  function take(path: string): void {
    while (!linked(written, path)) {
      const holder = readHolder(path);
      if (holder === undefined) continue;
      if (processStart(holder.pid) === holder.startedAt) throw heldError(folder, holder);
      const removalLock = `${path}.${holder.claim}`;
      take(removalLock);
      try {
        if (readHolder(path)?.claim === holder.claim) {
          rmSync(path);
          removeLeftover(holder.socketFolder);
        }
      } finally {
        rmSync(removalLock);
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
