import { constants, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { hashSync, verifySync } from '@node-rs/argon2';
import type { HashAnswer, HashTask } from './hash-thread.ts';

// What `hash-thread.ts` runs in a thread of its own.

/**
 * Whoever waits for a password waits for milliseconds of pure computing in any case. Behind everybody else's work it costs the
 * others nothing as long as a core is free now and then.
 */
function makeWay(): void {
  // Linux alone has a priority for each thread; elsewhere the whole process would be slowed down.
  if (process.platform !== 'linux') return;
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Where the system forbids it, it works like any other thread.
  }
}

/** argon2id with the parameters of OWASP's first choice: 19 MiB, two passes, one lane. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

function done(task: HashTask): HashAnswer {
  try {
    const { password } = task;
    const value = 'hash' in task ? verifySync(task.hash, password) : hashSync(password, parameters);
    return { value };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

makeWay();
parentPort?.on('message', (task: HashTask) => parentPort?.postMessage(done(task)));
