import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/** The lock of all checkouts on this machine: bridge, addresses and control group exist once. Only root can write to its folder. */
export const machineLock = '/run/parley-cluster.lock';

/**
 * Runs `work` while no other process on this machine holds the lock of this file. The lock is held until `work` has settled, even if
 * `signal` is aborted meanwhile, and is released when this process ends.
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

/** Locks an open file. This process shares the open file with `flock`, so the lock remains when `flock` has ended. */
async function acquire(lock: number, signal: AbortSignal): Promise<void> {
  // The child has its own process group, so that Ctrl-C reaches `flock` only through `signal`.
  const child = spawn('flock', ['3'], { stdio: ['ignore', 'ignore', 'inherit', lock], detached: true, signal });
  const [code] = await once(child, 'close').catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
  signal.throwIfAborted();
  if (code !== 0) throw new Error(`flock ended with ${code}`);
}
