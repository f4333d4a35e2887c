import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { untilReached } from './until-reached.ts';

/** An engine that is away until it is told otherwise, and counts who asks for it. */
function engine() {
  const self = { isAway: true, asked: 0 };
  const ping = async () => {
    self.asked += 1;
    if (self.isAway) throw new Error('it is away');
  };
  return Object.assign(self, { ping });
}

test('what needs an engine is not ready before it has reached it once, and stays ready in a later outage', async (t) => {
  const bus = engine();
  const ready = untilReached(bus.ping);
  await t.throwsAsync(ready(), { message: 'it is away' });
  await t.throwsAsync(ready());
  bus.isAway = false;
  await t.notThrowsAsync(ready());
  bus.isAway = true;
  await t.notThrowsAsync(ready());
  t.is(bus.asked, 3);
});

test('it is ready after a time in any case, counted from the first question', async (t) => {
  const { ping } = engine();
  const ready = untilReached(ping, 200);
  await t.throwsAsync(ready());
  await eventually('it is ready', () =>
    ready().then(
      () => true,
      () => false,
    ),
  );
  await t.notThrowsAsync(ready());
});
