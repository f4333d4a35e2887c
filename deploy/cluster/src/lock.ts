import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** Runs `work` while no other process on this machine holds the lock of this file. The lock is released when this process ends. */
export async function exclusively<T>(file: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const holder = spawn('flock', [file, 'sh', '-c', 'echo locked; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    signal,
  });
  const ended = new Promise((resolve) => holder.once('close', resolve).once('error', resolve));
  try {
    await Promise.race([once(holder.stdout, 'data', { signal }), ended]);
    signal.throwIfAborted();
    return await work();
  } finally {
    holder.stdin.end();
    holder.stdin.on('error', () => undefined); // flock has already ended
    await ended;
  }
}
