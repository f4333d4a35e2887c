import test from 'ava';
import { type Part, unit } from './unit.ts';

function recorder() {
  const steps: string[] = [];
  const part = (name: string, failing?: 'start' | 'stop' | 'ready'): Part => ({
    name,
    async start() {
      if (failing === 'start') throw new Error(`${name} cannot start`);
      steps.push(`start ${name}`);
    },
    async stop() {
      steps.push(`stop ${name}`);
      if (failing === 'stop') throw new Error(`${name} cannot stop`);
    },
    async ready() {
      if (failing === 'ready') throw new Error(`${name} is not ready`);
    },
  });
  return { steps, part };
}

test('parts start in order and stop in reverse', async (t) => {
  const { steps, part } = recorder();
  const whole = unit('whole', [part('a'), part('b')]);
  await whole.start();
  await whole.stop();
  t.deepEqual(steps, ['start a', 'start b', 'stop b', 'stop a']);
});

test('a failed start stops the started parts and rejects with its own error', async (t) => {
  const { steps, part } = recorder();
  const whole = unit('whole', [part('a', 'stop'), part('b', 'start'), part('c')]);
  await t.throwsAsync(whole.start(), { message: 'b cannot start' });
  t.deepEqual(steps, ['start a', 'stop a']);
});

test('a part that fails to stop does not keep others from stopping', async (t) => {
  const { steps, part } = recorder();
  const whole = unit('whole', [part('a'), part('b', 'stop')]);
  await whole.start();
  await t.throwsAsync(whole.stop(), { message: 'whole did not stop cleanly' });
  t.deepEqual(steps.slice(2), ['stop b', 'stop a']);
});

test('a unit is ready when it has started and all its parts are', async (t) => {
  const { part } = recorder();
  const good = unit('good', [part('a')]);
  await t.throwsAsync(good.ready(), { message: 'good is starting' });
  await good.start();
  await t.notThrowsAsync(good.ready());
  await good.stop();
  await t.throwsAsync(good.ready(), { message: 'good is stopping' });

  const bad = unit('bad', [part('a'), part('b', 'ready')]);
  await bad.start();
  await t.throwsAsync(bad.ready(), { message: 'b is not ready' });
});
