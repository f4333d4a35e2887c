import test from 'ava';
import { createBreakers } from './breakers.ts';
import { ModelError, type ModelErrorKind } from './model-error.ts';

let now = Date.now();
Date.now = () => now;
/** The longest time of a breaker here. */
const openMs = 10_000;
/** Advances the clock until every breaker is closed or half-open. */
function pass(): void {
  now += openMs;
}

const place = { providerId: 'P', modelId: 'm' };
const failing = (kind: ModelErrorKind, transient: boolean, retryAfterMs?: number) => async () => {
  throw new ModelError(kind, {
    beforeFirstChunk: true,
    transient,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
};

test.serial('it opens after failures in a row, and lets one call through when its time is over', async (t) => {
  const breakers = createBreakers({ failures: 2, openMs });
  const breaker = breakers.of(place, 1);
  await t.throwsAsync(breaker.run(failing('failed', true)));
  t.is(await breaker.run(async () => 'answer'), 'answer');
  await t.throwsAsync(breaker.run(failing('failed', true)));
  t.false(breaker.isOpen, 'a success in between starts the count anew');
  await t.throwsAsync(breaker.run(failing('timedOut', true)));
  t.true(breaker.isOpen);
  t.deepEqual(breakers.failing(), [place]);

  pass();
  const trial = Promise.withResolvers<string>();
  const running = breaker.run(() => trial.promise);
  t.true(breaker.isOpen, 'while one tries, others are kept out');
  trial.resolve('back');
  t.is(await running, 'back');
  t.false(breaker.isOpen);
});

test.serial(
  'a model is failing until it answers, however seldom it is asked, and for half an hour at most',
  async (t) => {
    const breakers = createBreakers({ failures: 1, openMs });
    const breaker = breakers.of(place, 1);
    for (const outcome of ['failed', 'timedOut'] as const) {
      await t.throwsAsync(breaker.run(failing(outcome, true)));
      now += 29 * 60_000;
      t.false(breaker.isOpen, 'a call is let through');
      t.deepEqual(breakers.failing(), [place], 'which shows that metrics and alerts go on');
    }
    now += 60_000;
    t.deepEqual(breakers.failing(), [], 'nobody asks it any more');
    await breaker.run(async () => 'answer');
    await t.throwsAsync(breaker.run(failing('failed', true)));
    t.deepEqual(breakers.failing(), [place]);
    pass();
    await breaker.run(async () => 'answer');
    t.deepEqual(breakers.failing(), [], 'it has answered');
  },
);

test.serial('a trial that fails opens it again', async (t) => {
  const breaker = createBreakers({ failures: 1, openMs }).of(place, 1);
  await t.throwsAsync(breaker.run(failing('unreachable', true)));
  pass();
  await t.throwsAsync(breaker.run(failing('unreachable', true)));
  t.true(breaker.isOpen);
});

test.serial('a trial whose caller leaves opens it again, and one that the provider refuses closes it', async (t) => {
  const breaker = createBreakers({ failures: 1, openMs }).of(place, 1);
  const left = new DOMException('left', 'AbortError');
  await t.throwsAsync(breaker.run(failing('failed', true)));
  for (let times = 0; times < 2; times += 1) {
    pass();
    t.is(await t.throwsAsync(breaker.run(() => Promise.reject(left))), left);
    t.true(breaker.isOpen);
  }
  pass();
  await t.throwsAsync(breaker.run(failing('badRequest', false)), { instanceOf: ModelError });
  t.false(breaker.isOpen);
  await t.throwsAsync(breaker.run(failing('failed', true)));
  t.true(breaker.isOpen, 'closed before, or it would have stayed half-open');
});

test.serial('a call that began before it opened does not decide about the trial when its caller leaves', async (t) => {
  const breaker = createBreakers({ failures: 1, openMs }).of(place, 1);
  const [old, trial] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const early = breaker.run(() => old.promise);
  await t.throwsAsync(breaker.run(failing('failed', true)));
  pass();
  const trying = breaker.run(() => trial.promise);
  old.reject(new DOMException('left', 'AbortError'));
  await t.throwsAsync(early, { name: 'AbortError' });
  trial.resolve('back');
  t.is(await trying, 'back');
  t.false(breaker.isOpen);
});

test.serial('it says how the last call failed that counted', async (t) => {
  const breaker = createBreakers({ failures: 2 }).of(place, 1);
  t.is(breaker.lastFailure, undefined);
  await t.throwsAsync(breaker.run(failing('failed', true)));
  await t.throwsAsync(breaker.run(failing('timedOut', true)));
  await t.throwsAsync(breaker.run(async () => Promise.reject(new DOMException('left', 'AbortError'))));
  t.is(breaker.lastFailure, 'timedOut');
  const limited = createBreakers().of(place, 1);
  await t.throwsAsync(limited.run(failing('rateLimited', true, openMs)));
  await t.throwsAsync(limited.run(failing('badRequest', false)));
  t.is(limited.lastFailure, 'rateLimited');
});

test.serial(
  'what a tenant has asked wrongly keeps nobody out, though its refusal says when to come back',
  async (t) => {
    const breaker = createBreakers().of(place, 1);
    await t.throwsAsync(breaker.run(failing('tooLong', false, 60_000)));
    t.false(breaker.isOpen);
  },
);

test.serial('of many tenants and models the least recently asked are forgotten', async (t) => {
  const breakers = createBreakers({ failures: 1 });
  const [often, seldom] = [breakers.of(place, 1), breakers.of(place, 2)];
  for (let tenant = 3; tenant < 5_100; tenant += 1) {
    breakers.of(place, tenant);
    t.is(breakers.of(place, 1), often);
  }
  t.not(breakers.of(place, 2), seldom);
});

test.serial('the failures of one tenant keep no other out', async (t) => {
  const breakers = createBreakers({ failures: 3, openMs });
  const fail = (tenant: number) => t.throwsAsync(breakers.of(place, tenant).run(failing('failed', true)));
  for (let n = 0; n < 3; n += 1) await fail(1);
  t.true(breakers.of(place, 1).isOpen);
  for (let n = 0; n < 2; n += 1) await fail(2);
  t.false(breakers.of(place, 2).isOpen);
  t.is(await breakers.of(place, 3).run(async () => 'answer'), 'answer');
  t.true(breakers.of(place, 1).isOpen, 'its own time is not over');
  t.deepEqual(breakers.failing(), [], 'but the model answers');
});

test.serial('one failure is enough where a model fails for others, until it answers anybody', async (t) => {
  const breakers = createBreakers({ failures: 3, openMs });
  const fail = (tenant: number) => t.throwsAsync(breakers.of(place, tenant).run(failing('timedOut', true)));
  for (const tenant of [1, 2]) {
    for (let n = 0; n < 3; n += 1) await fail(tenant);
  }
  t.false(breakers.of(place, 3).isOpen, 'it has not failed itself');
  await fail(3);
  t.true(breakers.of(place, 3).isOpen);
  await breakers.of(place, 4).run(async () => 'answer');
  await fail(5);
  t.false(breakers.of(place, 5).isOpen);
});

test.serial('what a tenant has asked wrongly counts for nothing', async (t) => {
  const breaker = createBreakers({ failures: 1 }).of(place, 1);
  for (const kind of ['badRequest', 'tooLong', 'unknownModel'] as const) {
    await t.throwsAsync(breaker.run(failing(kind, false)));
  }
  t.false(breaker.isOpen);
});

test.serial('a provider that says when to come back is left alone by all until then', async (t) => {
  const breakers = createBreakers({ failures: 100 });
  const breaker = breakers.of(place, 1);
  await t.throwsAsync(breaker.run(failing('rateLimited', true, openMs)));
  t.true(breaker.isOpen);
  t.true(breakers.of(place, 2).isOpen);
  pass();
  t.false(breaker.isOpen);
  t.is(await breaker.run(async () => 'answer'), 'answer');
});

test.serial('each model of each provider has its own', async (t) => {
  const breakers = createBreakers({ failures: 1 });
  await t.throwsAsync(breakers.of(place, 1).run(failing('failed', true)));
  t.true(breakers.of({ ...place }, 1).isOpen);
  t.false(breakers.of({ ...place, modelId: 'n' }, 1).isOpen);
  t.false(breakers.of({ ...place, providerId: 'Q' }, 1).isOpen);
});
