import { constants, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';
import type { HashResult, HashTask } from './hash-thread.ts';

/** Keeps hashing from delaying other requests, at little cost to the sign-ins that wait for it. */
function lowerPriority(): void {
  // Only Linux has priorities per thread; elsewhere this would slow down the whole process.
  if (process.platform !== 'linux') return;
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Not permitted: the thread keeps its normal priority.
  }
}

/** argon2id as OWASP recommends: 19 MiB of memory, two iterations, parallelism 1. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

function run(task: HashTask): HashResult {
  try {
    const { password } = task;
    const value = 'hash' in task ? verifySync(task.hash, password) : hashSync(password, parameters);
    return { value };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

lowerPriority();
parentPort?.on('message', (task: HashTask) => parentPort?.postMessage(run(task)));
