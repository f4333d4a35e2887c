import { createGate } from '@parley/testing/gate';
import { requestOf } from '@parley/testing/request-of';
import test from 'ava';
import { workTurns } from './work-turns.ts';

const request = (tenantId: number, signal?: AbortSignal) =>
  requestOf({ kind: 'user', tenantId, userId: 1, requestId: 'test' }, { signal });

/** How many each tenant has at once. */
const perTenant = { search: 10, readBase: 2, storeText: 1, vectorize: 4 };

for (const [name, most] of Object.entries(perTenant)) {
  const kind = name as keyof typeof perTenant;

  test(`${kind}: work of a tenant with much of it leaves places to others, and waits in turn`, async (t) => {
    const turns = workTurns();
    const gate = createGate();
    let running = 0;
    const held = async () => {
      running += 1;
      await gate.pass();
      running -= 1;
    };
    const flood = Array.from({ length: most + 10 }, () => turns[kind](request(1), held));
    t.is(await turns[kind](request(2), async () => 'served'), 'served');
    t.is(running, most);
    gate.open();
    await Promise.all(flood);
    t.is(running, 0);
  });

  test(`${kind}: a tenant with too much waiting is refused, and another one is not`, async (t) => {
    const turns = workTurns();
    const gate = createGate();
    const flood = Array.from({ length: 300 }, () => turns[kind](request(1), () => gate.pass()));
    const settled = Promise.allSettled(flood);
    t.is(await turns[kind](request(2), async () => 'served'), 'served');
    gate.open();
    const refused = (await settled).filter(({ status }) => status === 'rejected');
    t.true(refused.length > 200);
    for (const each of refused) t.like(each, { reason: { kind: 'tooManyRequests' } });
  });
}

test('whoever leaves while waiting does no work, and one that fails gives its place back', async (t) => {
  const turns = workTurns();
  const gate = createGate();
  const first = turns.storeText(request(1), () => gate.pass());
  const leaving = new AbortController();
  const waiting = turns.storeText(request(1, leaving.signal), async () => t.fail('it has left'));
  leaving.abort(new Error('left'));
  await t.throwsAsync(waiting, { message: 'left' });
  gate.open();
  await first;
  await t.throwsAsync(
    turns.storeText(request(1), () => Promise.reject(new Error('failed'))),
    {
      message: 'failed',
    },
  );
  t.is(await turns.storeText(request(1), async () => 'served'), 'served');
});
