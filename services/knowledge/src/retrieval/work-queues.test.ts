import { createGate } from '@parley/testing/gate';
import { requestOf } from '@parley/testing/request-of';
import test from 'ava';
import { workQueues } from './work-queues.ts';

const request = (tenantId: number, signal?: AbortSignal) =>
  requestOf({ kind: 'user', tenantId, userId: 1, requestId: 'test' }, { signal });

/** Maximum concurrent work of a tenant, by kind. */
const perTenant = { search: 10, readBase: 2, storeText: 1, vectorize: 4 };

for (const [name, maxRunning] of Object.entries(perTenant)) {
  const kind = name as keyof typeof perTenant;

  test(`${kind}: the concurrent work of a tenant is bounded without delaying another tenant`, async (t) => {
    const queues = workQueues();
    const gate = createGate();
    let running = 0;
    const held = async () => {
      running += 1;
      await gate.pass();
      running -= 1;
    };
    const flood = Array.from({ length: maxRunning + 10 }, () => queues[kind](request(1), held));
    t.is(await queues[kind](request(2), async () => 'served'), 'served');
    t.is(running, maxRunning);
    gate.open();
    await Promise.all(flood);
    t.is(running, 0);
  });

  test(`${kind}: a tenant with too many waiting calls is refused, and another one is not`, async (t) => {
    const queues = workQueues();
    const gate = createGate();
    const flood = Array.from({ length: 300 }, () => queues[kind](request(1), () => gate.pass()));
    const settled = Promise.allSettled(flood);
    t.is(await queues[kind](request(2), async () => 'served'), 'served');
    gate.open();
    const refused = (await settled).filter(({ status }) => status === 'rejected');
    t.true(refused.length > 200);
    for (const each of refused) t.like(each, { reason: { kind: 'tooManyRequests' } });
  });
}

test('a call cancelled in the queue does no work, and a failed call releases its slot', async (t) => {
  const queues = workQueues();
  const gate = createGate();
  const first = queues.storeText(request(1), () => gate.pass());
  const leaving = new AbortController();
  const waiting = queues.storeText(request(1, leaving.signal), async () => t.fail('it has left'));
  leaving.abort(new Error('left'));
  await t.throwsAsync(waiting, { message: 'left' });
  gate.open();
  await first;
  await t.throwsAsync(
    queues.storeText(request(1), () => Promise.reject(new Error('failed'))),
    {
      message: 'failed',
    },
  );
  t.is(await queues.storeText(request(1), async () => 'served'), 'served');
});
