import { setImmediate as immediate } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { startTaskThread, TaskThreadEnded } from './task-thread.ts';

const answers = new URL('answer-tasks.ts', import.meta.url).href;

/** Starts a thread whose `perform` has this body. */
function threadOf<Task = number>(t: ExecutionContext, body: string) {
  const code = `import { answerTasks } from '${answers}'; answerTasks((task) => { ${body} });`;
  const module = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const thread = startTaskThread<Task, number>({ module, name: 'test', purpose: 'that computes' });
  t.teardown(() => thread.end());
  return thread;
}

test('a thread answers one task at a time', async (t) => {
  const thread = threadOf(t, 'return task + 1');
  const first = thread.run(1);
  await t.throwsAsync(thread.run(2), { message: 'The thread that computes takes no task now' });
  t.is(await first, 2);
  t.is(await thread.run(2), 3);
});

test('a task that throws is rejected with its message, and the thread continues', async (t) => {
  const thread = threadOf(t, `if (task === 1) throw new TypeError('odd'); return task`);
  await t.throwsAsync(thread.run(1), { message: 'odd' });
  t.is(await thread.run(2), 2);
});

test('a task that cannot be sent to a thread fails, and the thread continues', async (t) => {
  const thread = threadOf<unknown>(t, 'return 1');
  await t.throwsAsync(async () => thread.run(() => 'a function'), { name: 'DataCloneError' });
  t.is(await thread.run('a text'), 1);
});

test('when the thread dies, its task is rejected and it counts as ended', async (t) => {
  const thread = threadOf(t, 'process.exit(3)');
  await t.throwsAsync(thread.run(1), { instanceOf: TaskThreadEnded, message: 'The thread that computes has ended' });
  t.true(thread.ended);
});

test('the event loop is free while a task is under way', async (t) => {
  const thread = threadOf<Int32Array>(t, 'Atomics.wait(task, 0, 0); return task[0];');
  const goes = new Int32Array(new SharedArrayBuffer(4));
  const answer = thread.run(goes);
  await immediate();
  Atomics.store(goes, 0, 1);
  Atomics.notify(goes, 0);
  t.is(await answer, 1);
});
