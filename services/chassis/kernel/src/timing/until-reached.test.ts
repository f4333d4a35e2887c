import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { pino } from 'pino';
import { untilReached } from './until-reached.ts';

/** An engine that is unavailable at first and counts its pings; `lines` are its log lines. */
function engine() {
  const self = { isAway: true, asked: 0 };
  const ping = async () => {
    self.asked += 1;
    if (self.isAway) throw new Error('it is away');
  };
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  return Object.assign(self, { ping, log, lines });
}

test('a unit is not ready before it has reached its engine once, and stays ready in a later outage', async (t) => {
  const bus = engine();
  const ready = untilReached('Kafka', bus.ping, bus.log);
  await t.throwsAsync(ready(), { message: 'it is away' });
  await t.throwsAsync(ready());
  bus.isAway = false;
  await t.notThrowsAsync(ready());
  bus.isAway = true;
  await t.notThrowsAsync(ready());
  t.is(bus.asked, 3);
  t.deepEqual(bus.lines, []);
});

test('a unit is ready after a maximum time from the first check, and logs the reason once', async (t) => {
  const { ping, log, lines } = engine();
  const ready = untilReached('Kafka', ping, log, 200);
  await delay(300);
  await t.throwsAsync(ready());
  t.deepEqual(lines, []);
  await eventually('it is ready', () =>
    ready().then(
      () => true,
      () => false,
    ),
  );
  await Promise.all([ready(), ready()]);
  t.is(lines.length, 1);
  t.like(JSON.parse(lines[0] ?? ''), {
    level: 40,
    engine: 'Kafka',
    err: { message: 'it is away' },
    msg: 'engine not reached; ready without it, will retry',
  });
});
