import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * The lock that all checkouts on this machine share, because the bridge, the addresses and the control group exist only once. Only root can
 * write to the lock's folder.
 */
export const machineLock = '/run/parley-cluster.lock';

/**
 * Runs `work` while no other process on this machine holds the lock of this file. The lock is held until `work` has settled, even if
 * `signal` is aborted earlier. It is also released when this process ends.
 * @throws the reason of `signal` if it is aborted before `work` begins
 */
export async function exclusively<T>(file: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  mkdirSync(dirname(file), { recursive: true });
  // Only the owner can open the file, because whoever can open it can lock it.
  const lock = openSync(file, 'a', 0o600);
  try {
    await acquire(lock, signal);
    return await work();
  } finally {
    closeSync(lock);
  }
}

/** Locks an open file. `flock` locks the file that this process has opened, so the lock remains when `flock` has ended. */
async function acquire(lock: number, signal: AbortSignal): Promise<void> {
  // The child has its own process group, so that Ctrl-C does not reach `flock` directly, but only as an abort of `signal`.
  const child = spawn('flock', ['3'], { stdio: ['ignore', 'ignore', 'inherit', lock], detached: true, signal });
  const [code] = await once(child, 'close').catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
  signal.throwIfAborted();
  if (code !== 0) throw new Error(`flock ended with ${code}`);
}
