import test from 'ava';
import { partitionProgress } from './kafka-progress.ts';

test('the offset to commit is that of the first unfinished event', (t) => {
  const progress = partitionProgress();
  t.is(progress.due(), undefined);
  for (const offset of ['5', '6', '9']) progress.begin(offset);
  t.is(progress.due(), '5', 'nothing is finished: the first offset');
  progress.finish('6');
  t.is(progress.due(), '5');
  progress.finish('5');
  t.is(progress.due(), '9');
  progress.committed('9');
  t.is(progress.due(), undefined);
  progress.finish('9');
  t.is(progress.due(), '10');
});

test('the lag is the distance from the offset to commit to the end of the partition', (t) => {
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
