import test from 'ava';
import { partitionProgress } from './kafka-progress.ts';

test('only what lies before everything unfinished is due to be committed', (t) => {
  const progress = partitionProgress();
  t.is(progress.due(), undefined);
  for (const offset of ['5', '6', '9']) progress.begin(offset);
  t.is(progress.due(), '5', 'nothing is done: where it began');
  progress.finish('6');
  t.is(progress.due(), '5');
  progress.finish('5');
  t.is(progress.due(), '9');
  progress.committed('9');
  t.is(progress.due(), undefined);
  progress.finish('9');
  t.is(progress.due(), '10');
});

test('the lag is what lies between the finished part and the end', (t) => {
  const progress = partitionProgress();
  progress.endsAt('12');
  t.is(progress.lag(), 0, 'unknown before the first event');
  progress.begin('9007199254740993');
  progress.endsAt('9007199254740996');
  t.is(progress.lag(), 3);
  progress.finish('9007199254740993');
  t.is(progress.lag(), 2);
  t.is(progress.due(), '9007199254740994', 'offsets keep all 64 bits');
});
