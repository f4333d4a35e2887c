import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** Runs `work` while no other process of this machine runs such work with that file. The lock ends with this process. */
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
    holder.stdin.on('error', () => undefined); // it has ended before
    await ended;
  }
}
