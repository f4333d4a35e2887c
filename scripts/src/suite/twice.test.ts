import test from 'ava';
import { type Outcome, twice } from './steps.ts';

function stepOf(...outcomes: Partial<Outcome>[]) {
  const left = outcomes.map((each) => ({ passed: 1, failed: 0, skipped: 0, output: '', ...each }));
  const runs = { count: 0 };
  const run = async () => {
    runs.count += 1;
    return left.shift() ?? { passed: 0, failed: 1, skipped: 0, output: 'run once too often' };
  };
  return { step: twice({ name: 'it', run }), runs };
}

test('what passes is run once', async (t) => {
  const { step, runs } = stepOf({ passed: 3 });
  t.like(await step.run(), { passed: 3, unsteady: undefined });
  t.is(runs.count, 1);
});

test('what fails once and passes then is told', async (t) => {
  const { step } = stepOf({ failed: 1, output: 'a clock' }, { passed: 4 });
  t.like(await step.run(), { passed: 4, failed: 0, unsteady: 'a clock' });
});

test('what fails twice has failed', async (t) => {
  const { step } = stepOf({ failed: 1 }, { failed: 2, output: 'again' });
  t.like(await step.run(), { failed: 2, output: 'again', unsteady: undefined });
});
