import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { heldAnswers } from './held-answers.ts';

const tooLarge = { message: /take too much memory at once/u };

test('the bytes that a tenant holds are limited, and are released when its calls end', async (t) => {
  const held = heldAnswers({ maxBytes: 1_000, maxTenantBytes: 100 });
  const gate = createGate();
  const first = held.holding(1, async () => {
    held.take(60);
    await gate.pass();
  });
  await t.throwsAsync(
    held.holding(1, async () => held.take(50)),
    tooLarge,
  );
  await held.holding(2, async () => held.take(100));
  t.is(held.bytes, 60);
  gate.open();
  await first;
  await held.holding(1, async () => held.take(100));
  t.is(held.bytes, 0);
});

test('when the total is exceeded, only tenants above an equal share are refused', async (t) => {
  const held = heldAnswers({ maxBytes: 100, maxTenantBytes: 90 });
  const gate = createGate();
  const hold = (tenantId: number, bytes: number) =>
    held.holding(tenantId, async () => {
      held.take(bytes);
      await gate.pass();
    });
  const holding = [hold(1, 60), hold(2, 35)];
  const third = held.holding(3, async () => held.take(30));
  await t.notThrowsAsync(third);
  await t.throwsAsync(
    held.holding(1, async () => held.take(10)),
    tooLarge,
  );
  gate.open();
  await Promise.all(holding);
  t.is(held.bytes, 0);
});

test('bytes received after the end of their call are not counted', async (t) => {
  const held = heldAnswers({ maxBytes: 100, maxTenantBytes: 90 });
  const gate = createGate();
  let late = Promise.resolve();
  await held.holding(1, async () => {
    late = gate.pass().then(() => held.take(1_000));
  });
  gate.open();
  await t.notThrowsAsync(late);
  t.is(held.bytes, 0);
});
