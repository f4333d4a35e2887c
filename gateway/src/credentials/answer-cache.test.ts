import test from 'ava';
import { answerCache } from './answer-cache.ts';

test('invalidation removes matching answers and all pending ones', async (t) => {
  const answers = answerCache<number>();
  const asked: string[] = [];
  const ask = (key: string, value: number) =>
    answers.get(key, async () => {
      asked.push(key);
      return value;
    });
  await ask('a', 1);
  await ask('b', 2);
  const onItsWay = ask('c', 2);
  answers.invalidate((value) => value === 1);
  await onItsWay;
  asked.length = 0;
  for (const key of ['a', 'b', 'c']) await ask(key, 3);
  t.deepEqual(asked, ['a', 'c']);
  answers.invalidate();
  await ask('b', 3);
  t.deepEqual(asked, ['a', 'c', 'b']);
});

test('a failure is not cached', async (t) => {
  const answers = answerCache<number>();
  await t.throwsAsync(answers.get('a', () => Promise.reject(new Error('away'))));
  t.is(await answers.get('a', async () => 1), 1);
});

test('the number of cached answers is bounded', async (t) => {
  const answers = answerCache<string>(2);
  for (const key of ['a', 'b', 'c']) await answers.get(key, async () => key);
  t.is(answers.find('a'), undefined);
  t.deepEqual(await Promise.all([answers.find('b'), answers.find('c')]), ['b', 'c']);
});
