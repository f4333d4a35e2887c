import test from 'ava';
import { type BreakerOptions, createBreakers as create } from './breakers.ts';
import { ModelError, type ModelErrorKind } from './model-error.ts';

let now = 1_000;
const createBreakers = (options: BreakerOptions = {}) => create({ ...options, now: () => now });
/** The longest time that a breaker stays open in these tests. */
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

test.serial('a breaker opens after consecutive failures, and allows one trial call after its open time', async (t) => {
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

test.serial('a trial that fails opens the breaker again', async (t) => {
  const breaker = createBreakers({ failures: 1, openMs }).of(place, 1);
  await t.throwsAsync(breaker.run(failing('unreachable', true)));
  pass();
  await t.throwsAsync(breaker.run(failing('unreachable', true)));
  t.true(breaker.isOpen);
});

test.serial(
  'a trial whose caller leaves opens the breaker again, and a trial that the provider refuses closes it',
  async (t) => {
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
  },
);

test.serial(
  'a call that began before the breaker opened does not affect the trial when its caller leaves',
  async (t) => {
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
  },
);

test.serial('lastFailure is the kind of the last counted failure', async (t) => {
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

test.serial("a tenant's invalid request blocks no calls, even if the refusal has a Retry-After", async (t) => {
  const breaker = createBreakers().of(place, 1);
  await t.throwsAsync(breaker.run(failing('tooLong', false, 60_000)));
  t.false(breaker.isOpen);
});

test.serial('the breakers of the least recently used tenants and models are evicted', async (t) => {
  const breakers = createBreakers({ failures: 1 });
  const [often, seldom] = [breakers.of(place, 1), breakers.of(place, 2)];
  for (let tenant = 3; tenant < 5_100; tenant += 1) {
    breakers.of(place, tenant);
    t.is(breakers.of(place, 1), often);
  }
  t.not(breakers.of(place, 2), seldom);
});

test.serial("one tenant's failures do not open another tenant's breaker", async (t) => {
  const breakers = createBreakers({ failures: 5, openMs });
  const fail = (tenant: number) => failed(breakers.of(place, tenant).run(failing('failed', true)));
  for (let n = 0; n < 5; n += 1) await fail(1);
  t.true(breakers.of(place, 1).isOpen);
  t.false(breakers.of(place, 2).isOpen);
  await fail(2);
  t.false(breakers.of(place, 2).isOpen);
  t.is(await breakers.of(place, 3).run(async () => 'answer'), 'answer');
  t.true(breakers.of(place, 1).isOpen, 'its own time is not over');
  t.deepEqual(breakers.failing(), [], 'but the model answers');
});

/** Creates breakers, with one failed call of each of these tenants. */
async function outageFor(tenants: number[]) {
  const breakers = createBreakers({ failures: 3, openMs });
  const fail = (tenant: number) => failed(breakers.of(place, tenant).run(failing('timedOut', true)));
  for (const tenant of tenants) await fail(tenant);
  const isOpen = (tenant: number) => breakers.of(place, tenant).isOpen;
  const answer = (tenant: number) => breakers.of(place, tenant).run(async () => 'answer');
  return { breakers, fail, isOpen, answer };
}

const failed = (call: Promise<unknown>) =>
  call.then(
    () => Promise.reject(new Error('no failure')),
    () => undefined,
  );

test.serial("if a model fails for several tenants, one failure opens another tenant's breaker", async (t) => {
  const { fail, isOpen, answer } = await outageFor([1, 2]);
  t.false(isOpen(2));
  await fail(3);
  t.true(isOpen(3));
  t.false(isOpen(1), 'it has not failed again for those');
  t.false(isOpen(4));
  await fail(4);
  t.true(isOpen(4));
  t.true(isOpen(5), 'while another tenant probes');
  now += 1_000;
  t.false(isOpen(5));
  for (const tenant of [5, 5, 5]) await answer(tenant);
  await fail(6);
  t.false(isOpen(6), 'it has answered since');
});

for (const answers of ['none', 'one'] as const) {
  test.serial(
    `of the tenants of an outage about one call every openMs tries the model, which answers ${answers}`,
    async (t) => {
      const { breakers, answer } = await outageFor([]);
      const tenants = Array.from({ length: 60 }, (_, index) => index + 1);
      for (const tenant of tenants) await answer(tenant);
      const asked: number[] = [];
      let isLucky = false;
      for (let round = 0; round < 30; round += 1) {
        let calls = 0;
        for (const tenant of tenants) {
          now += 200;
          const breaker = breakers.of(place, tenant);
          if (breaker.isOpen) continue;
          calls += 1;
          if (answers === 'one' && round === 10 && !isLucky) {
            await answer(tenant);
            isLucky = true;
          } else await failed(breaker.run(failing('timedOut', true)));
        }
        asked.push(calls);
      }
      t.is(isLucky, answers === 'one');
      t.true(Math.max(...asked.slice(20)) <= 4, `12 s each: ${asked.join(' ')}`);
      t.true(asked.slice(20).reduce((sum, calls) => sum + calls) > 5, 'and it is tried again and again');
    },
  );
}

test.serial('many tenants with few calls cause an outage after as many failures as one tenant with many', async (t) => {
  const { breakers } = await outageFor([]);
  let calls = 0;
  for (let tenant = 1; tenant <= 12_000; tenant += 1) {
    now += 10;
    const breaker = breakers.of(place, tenant);
    if (breaker.isOpen) continue;
    calls += 1;
    await failed(breaker.run(failing('timedOut', true)));
  }
  t.true(calls <= 3 + 120, `${calls} in two minutes`);
});

test.serial(
  'after the first answer in an outage all tenants may probe one by one, and the third answer ends the outage',
  async (t) => {
    const { breakers, fail, isOpen, answer } = await outageFor([1, 2, 3]);
    for (const tenant of [4, 5]) {
      now += 1_000;
      await fail(tenant);
    }
    now += openMs - 1_000;
    t.true(isOpen(3), 'its own time is over, but another one has tried in the meantime');
    now += 1_000;
    t.false(isOpen(3));
    await fail(3);
    t.true(isOpen(4));
    now += 1_000;
    await answer(6);
    for (const tenant of [3, 4, 5]) t.false(isOpen(tenant), 'also where its own time is not over');
    const slow = Promise.withResolvers<string>();
    const probe = breakers.of(place, 3).run(() => slow.promise);
    for (const tenant of [4, 5, 6]) t.true(isOpen(tenant));
    slow.resolve('answer');
    await probe;
    await answer(4);
    void breakers.of(place, 5).run(() => new Promise(() => undefined));
    t.false(isOpen(6), 'no probes any more');
    t.is(await answer(6), 'answer');
  },
);

test.serial('a model that answers only a few calls is not asked by all tenants after each answer', async (t) => {
  const { breakers, answer } = await outageFor([]);
  let [calls, last] = [0, 0];
  for (let minute = 0; minute < 20; minute += 1) {
    last = calls;
    for (let tenant = 0; tenant < 600; tenant += 1) {
      now += 100;
      const breaker = breakers.of(place, tenant % 60);
      if (breaker.isOpen) continue;
      calls += 1;
      if (calls % 50 === 0) await answer(tenant % 60);
      else await failed(breaker.run(failing('timedOut', true)));
    }
  }
  t.true(calls / 20 < 60, `${calls / 20} of 600 a minute`);
  t.true(calls - last > 0);
});

test.serial('a tenant whose trial had no outcome does not get the next trial', async (t) => {
  const { breakers, isOpen } = await outageFor([1, 2, 3]);
  for (const tenant of [1, 2]) {
    now += 1_000;
    await failed(breakers.of(place, tenant).run(failing('timedOut', true)));
  }
  now += openMs;
  await t.throwsAsync(breakers.of(place, 1).run(() => Promise.reject(new DOMException('left', 'AbortError'))));
  t.false(isOpen(2));
  now += openMs;
  t.true(isOpen(1));
  t.false(isOpen(2));
  now += 2 * openMs;
  t.false(isOpen(1));
});

test.serial('tenants whose own requests fail do not block the model for others', async (t) => {
  const { breakers, fail, isOpen, answer } = await outageFor([1, 1, 2]);
  const trial = Promise.withResolvers<string>();
  const first = breakers.of(place, 3).run(() => trial.promise);
  t.true(isOpen(4), 'while another one tries');
  await t.throwsAsync(answer(4), { name: 'Error' }, 'also if it has not looked');
  trial.resolve('answer');
  await first;
  t.false(isOpen(4));
  for (const tenant of [5, 6, 7]) await answer(tenant);
  for (let n = 0; n < 3; n += 1) {
    await fail(1);
    await fail(2);
  }
  t.true(isOpen(1));
  t.deepEqual(breakers.failing(), [], 'which is no fault of the model');
  t.false(isOpen(4));
  await fail(4);
  t.false(isOpen(4), 'it needs failures in a row of its own');
});

test.serial(
  'tenants whose calls failed while others were answered count again once they are answered, or later',
  async (t) => {
    for (const what of ['soon', 'answered', 'later'] as const) {
      const { fail, isOpen, answer } = await outageFor([1, 2]);
      await answer(3);
      if (what === 'answered') for (const tenant of [1, 2]) await answer(tenant);
      if (what === 'later') now += 10 * 60_000 + 1;
      for (const tenant of [3, 4, 5]) await answer(tenant);
      now += 1_000;
      for (const tenant of [1, 1, 2]) await fail(tenant);
      t.is(isOpen(2), what !== 'soon', what);
    }
  },
);

test.serial('failures within a second of an answer to another tenant start no outage', async (t) => {
  const { breakers, fail, isOpen, answer } = await outageFor([]);
  await answer(1);
  now += 999;
  for (const tenant of [2, 3, 4]) await fail(tenant);
  t.false(isOpen(4));
  t.deepEqual(breakers.failing(), []);
  now += 1;
  await fail(5);
  t.true(isOpen(5));
});

test.serial('after a probe without outcome another tenant may probe', async (t) => {
  const { breakers, isOpen } = await outageFor([1, 2, 3]);
  now += 1_000;
  await t.throwsAsync(breakers.of(place, 4).run(failing('badRequest', false)));
  t.true(isOpen(4));
  t.false(isOpen(5));
  await t.throwsAsync(breakers.of(place, 5).run(() => Promise.reject(new DOMException('left', 'AbortError'))));
  t.true(isOpen(5));
  t.false(isOpen(6));
  now += 2 * openMs + 1;
  t.false(isOpen(4));
});

test.serial('a slow probe blocks other tenants for a second only', async (t) => {
  const { breakers, isOpen } = await outageFor([1, 2, 3]);
  now += 1_000;
  void breakers.of(place, 4).run(() => new Promise(() => undefined));
  t.true(isOpen(5));
  now += 1_000;
  t.false(isOpen(5));
});

test.serial('a blip ends for all as soon as their breakers let one call through', async (t) => {
  const { isOpen, answer } = await outageFor(Array.from({ length: 30 }, (_, index) => index % 10));
  t.true(isOpen(1));
  now += openMs;
  t.false(isOpen(1));
  for (const tenant of [1, 2, 3]) await answer(tenant);
  for (let tenant = 0; tenant < 10; tenant += 1) t.false(isOpen(tenant));
});

test.serial('abandoning a call that began before an outage neither starts nor ends a probe', async (t) => {
  const breakers = createBreakers({ failures: 3, openMs });
  const old = Promise.withResolvers<string>();
  const early = breakers.of(place, 5).run(() => old.promise);
  for (const tenant of [1, 2, 3]) await failed(breakers.of(place, tenant).run(failing('timedOut', true)));
  now += 1_000;
  void breakers.of(place, 6).run(() => new Promise(() => undefined));
  old.reject(new DOMException('left', 'AbortError'));
  await t.throwsAsync(early, { name: 'AbortError' });
  t.true(breakers.of(place, 7).isOpen, 'another tenant probes');
  now += 1_000;
  t.false(breakers.of(place, 5).isOpen);
});

test.serial('an outage expires half an hour after its last rejected call', async (t) => {
  const { fail, isOpen } = await outageFor([1, 2, 3]);
  now += 30 * 60_000;
  for (let n = 0; n < 3; n += 1) {
    t.false(isOpen(4));
    await fail(4);
  }
  t.true(isOpen(4));
  t.false(isOpen(5));
});

test.serial('a trial whose caller leaves does not count as a failure of the model', async (t) => {
  const { breakers, answer } = await outageFor([1, 1, 1]);
  await answer(2);
  pass();
  await t.throwsAsync(breakers.of(place, 1).run(() => Promise.reject(new DOMException('left', 'AbortError'))));
  t.deepEqual(breakers.failing(), []);
});

test.serial('a Retry-After of a failing server blocks only the tenant that got it', async (t) => {
  const breakers = createBreakers();
  await failed(breakers.of(place, 1).run(failing('failed', true, openMs)));
  t.true(breakers.of(place, 1).isOpen);
  t.false(breakers.of(place, 2).isOpen);
  pass();
  t.false(breakers.of(place, 1).isOpen);
});

test.serial("a provider's Retry-After pauses a model for a minute at most", async (t) => {
  const breaker = createBreakers().of(place, 1);
  await failed(breaker.run(failing('rateLimited', true, 3_600_000)));
  now += 59_999;
  t.true(breaker.isOpen);
  now += 1;
  t.false(breaker.isOpen);
});

test.serial('the least recently used models are evicted, for all tenants', async (t) => {
  const breakers = createBreakers({ failures: 1 });
  await failed(breakers.of(place, 1).run(failing('rateLimited', true, 60_000)));
  for (let n = 0; n < 500; n += 1) breakers.of({ ...place, modelId: String(n) }, 1);
  t.false(breakers.of(place, 2).isOpen);
  now += 60_000;
  await failed(breakers.of(place, 2).run(failing('rateLimited', true, 60_000)));
  t.true(breakers.of(place, 1).isOpen, 'and they know the same of it afterwards');
});

test.serial('invalid requests do not count as failures', async (t) => {
  const breaker = createBreakers({ failures: 1 }).of(place, 1);
  for (const kind of ['badRequest', 'tooLong', 'unknownModel'] as const) {
    await t.throwsAsync(breaker.run(failing(kind, false)));
  }
  t.false(breaker.isOpen);
});

test.serial('the Retry-After of a rate limit blocks the model for all tenants', async (t) => {
  const breakers = createBreakers({ failures: 100 });
  const breaker = breakers.of(place, 1);
  await t.throwsAsync(breaker.run(failing('rateLimited', true, openMs)));
  t.true(breaker.isOpen);
  t.true(breakers.of(place, 2).isOpen);
  pass();
  t.false(breaker.isOpen);
  t.is(await breaker.run(async () => 'answer'), 'answer');
});

test.serial('each model of each provider has its own breaker', async (t) => {
  const breakers = createBreakers({ failures: 1 });
  await t.throwsAsync(breakers.of(place, 1).run(failing('failed', true)));
  t.true(breakers.of({ ...place }, 1).isOpen);
  t.false(breakers.of({ ...place, modelId: 'n' }, 1).isOpen);
  t.false(breakers.of({ ...place, providerId: 'Q' }, 1).isOpen);
});
