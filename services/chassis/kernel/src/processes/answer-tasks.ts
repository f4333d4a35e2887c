import { parentPort } from 'node:worker_threads';
import type { TaskResult } from './task-thread.ts';

/** Called in the module of a thread: performs each task that `startTaskThread` sends. */
export function answerTasks<Task, Answer>(perform: (task: Task) => Answer): void {
  parentPort?.on('message', (task: Task) => parentPort?.postMessage(resultOf(() => perform(task))));
}

function resultOf<Answer>(perform: () => Answer): TaskResult<Answer> {
  try {
    return { value: perform() };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
