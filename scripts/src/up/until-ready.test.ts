import { unavailable } from '@parley/kernel/errors';
import test from 'ava';
import { untilReady } from './until-ready.ts';

/** Returns a function that gives these answers in order and repeats the last one. */
function answering(...answers: (Error | undefined)[]) {
  let asked = 0;
  return {
    asked: () => asked,
    async ready() {
      const answer = answers[Math.min(asked, answers.length - 1)];
      asked += 1;
      if (answer) throw answer;
    },
  };
}

const slow = unavailable('identity is not available');

test('a mesh whose units are not available yet is retried', async (t) => {
  const { ready, asked } = answering(slow, slow, undefined);
  await untilReady(ready);
  t.is(asked(), 3);
});

test('a unit that stays unavailable is reported after the time limit, other errors immediately', async (t) => {
  await t.throwsAsync(untilReady(answering(slow).ready, 300), { is: slow });
  const { ready, asked } = answering(new Error('identity refuses calls'), undefined);
  await t.throwsAsync(untilReady(ready), { message: 'identity refuses calls' });
  t.is(asked(), 1);
});
