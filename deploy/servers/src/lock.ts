import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface LockOptions {
  signal: AbortSignal;
  /** Called when somebody else has it. */
  waiting(): void;
}

const patienceMs = 300;

/**
 * Does `work` while nobody else on this machine does anything under the same lock file. The lock is the kernel's, held
 * by a small process that ends when its pipe to this one closes: whatever way this program ends, nothing stays locked.
 */
export async function withLock<T>(file: string, { signal, waiting }: LockOptions, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const holder = spawn('flock', ['-F', file, 'sh', '-c', 'echo taken; exec cat >/dev/null'], {
    detached: true, // Ctrl-C is for this program to act on
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(holder, 'close');
  const patience = setTimeout(waiting, patienceMs);
  const giveUp = () => holder.kill('SIGKILL');
  signal.addEventListener('abort', giveUp);
  try {
    const taken = once(holder.stdout, 'data').then(() => true);
    const isTaken = await Promise.race([taken, ended.then(() => false)]);
    signal.removeEventListener('abort', giveUp);
    signal.throwIfAborted();
    if (!isTaken) throw new Error(`${file} cannot be locked`);
    clearTimeout(patience);
    return await work();
  } finally {
    clearTimeout(patience);
    signal.removeEventListener('abort', giveUp);
    holder.stdin.end();
    await ended.catch(() => undefined);
  }
}
