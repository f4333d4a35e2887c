import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { answerBudget } from './answer-budget.ts';

const tooLarge = {
  name: 'DomainError',
  message: 'The answer is too large; ask for less at a time',
};

test('the budget can be used up to the last byte, and not exceeded', (t) => {
  const budget = answerBudget(100);
  budget.charge(60);
  budget.charge(40);
  t.like(
    t.throws(() => budget.charge(1), tooLarge),
    { kind: 'invalid', reason: 'ANSWER_TOO_LARGE' },
  );
});

test('concurrent lists are read one after another, each within the remaining budget', async (t) => {
  const budget = answerBudget(100);
  const gate = createGate();
  const seen: number[] = [];
  const first = budget.runExclusive(async (allowance) => {
    seen.push(allowance.remainingBytes);
    await gate.pass();
    allowance.charge(70);
    return 'first';
  });
  const second = budget.runExclusive(async (allowance) => {
    seen.push(allowance.remainingBytes);
    return 'second';
  });
  gate.open();
  t.deepEqual(await Promise.all([first, second]), ['first', 'second']);
  t.deepEqual(seen, [100, 30]);
});

test('nothing is read after the budget is used up', async (t) => {
  const budget = answerBudget(100);
  await t.throwsAsync(
    budget.runExclusive(async (allowance) => allowance.charge(101)),
    tooLarge,
  );
  await t.throwsAsync(
    budget.runExclusive(async () => t.fail('it was read')),
    tooLarge,
  );
});

test('a read that fails for another reason does not block the next', async (t) => {
  const budget = answerBudget(100);
  const failed = budget.runExclusive(async () => {
    throw new Error('away');
  });
  const next = budget.runExclusive(async (allowance) => allowance.remainingBytes);
  await t.throwsAsync(failed, { message: 'away' });
  t.is(await next, 100);
});
