import { constants, setPriority } from 'node:os';
import { hashSync, verifySync } from '@node-rs/argon2';
import { answerTasks } from '@parley/kernel/processes/answer-tasks';
import type { HashTask } from './hash-thread.ts';

/**
 * Lowers the priority of this thread, so that hashing does not delay other requests. Sign-ins, which wait for the hash,
 * become only slightly slower.
 */
function lowerPriority(): void {
  // Only Linux has priorities per thread; elsewhere a lower priority would slow down the whole process.
  if (process.platform !== 'linux') return;
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // If the process may not set priorities, the thread keeps its normal priority.
  }
}

/** argon2id as OWASP recommends: 19 MiB of memory, two iterations, parallelism 1. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

function run(task: HashTask): string | boolean {
  const { password } = task;
  return 'hash' in task ? verifySync(task.hash, password) : hashSync(password, parameters);
}

lowerPriority();
answerTasks(run);
