import { startTaskThread } from '@parley/kernel/processes/task-thread';

export type HashTask = { password: string } | { password: string; hash: string };

export type HashThread = ReturnType<typeof startHashThread>;

export function startHashThread() {
  return startTaskThread<HashTask, string | boolean>({
    module: new URL('./hash-worker.ts', import.meta.url),
    name: 'passwords',
    purpose: 'that hashes passwords',
  });
}
