import type { TenantCaller } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';
import test from 'ava';
import { shareChecks, shareProcessor } from './share-processor.ts';

const of = (tenantId: number) => ({
  caller: { tenantId } as TenantCaller,
  signal: new AbortController().signal,
});

/** Blocks the processor for `ms` milliseconds. */
function busy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('checks of a tenant are refused beyond twenty that wait; those that belong to begun work, and of others, are not', async (t) => {
  const asked = Array.from({ length: 30 }, () => shareChecks(of(1), () => 'checked'));
  const others = [shareChecks(of(1), () => 'begun', true), shareChecks(of(2), () => 'other')];
  const outcomes = await Promise.allSettled(asked);
  t.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 21);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') t.true(isDomainError(outcome.reason, 'tooManyRequests'));
  }
  t.deepEqual(await Promise.all(others), ['begun', 'other']);
});

test('after a check that took long the next of its tenant waits as long, and no turn does', async (t) => {
  let endedAt = 0;
  const first = shareChecks(of(3), () => {
    busy(40);
    endedAt = performance.now();
  });
  const second = shareChecks(of(3), () => performance.now());
  await first;
  const turn = shareProcessor(of(3), () => performance.now());
  t.true((await turn) <= (await second));
  t.true((await second) - endedAt >= 35);
});

test('a check that fails frees its place for the next one', async (t) => {
  await t.throwsAsync(
    shareChecks(of(4), () => {
      throw new Error('broken');
    }),
  );
  t.is(await shareChecks(of(4), () => 'next'), 'next');
});
