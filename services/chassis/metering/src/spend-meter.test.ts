import { DomainError, unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import type { SpendChange, SpendSettlement } from './ledger.ts';
import { type CallAccount, spendMeter } from './spend-meter.ts';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined } as never;
const spent = { providerId: 'P', modelId: 'm', tokensIn: 3, tokensCached: 1, tokensOut: 2, costUsdE8: 70n };
const outcome = { ...spent, estimated: false, served: true };

/** A meter on a scripted ledger. */
async function metered(t: ExecutionContext, { leaseMs = 30_000 } = {}) {
  const ledger = {
    reserve: async () => undefined as unknown,
    settle: async () => undefined as unknown,
    begin: async () => undefined as unknown,
    /**
     * Gets a batch of changes of many tenants; returns the indexes of the changes that were not applied. By default, no change is applied.
     */
    left: async (changes: SpendChange[]) => changes.map((_, place) => place),
    renewed: [] as string[][],
    settled: [] as string[][],
  };
  const meter = spendMeter({
    unit: 'agent',
    ledger: {
      reserveSpend: async () => {
        await ledger.reserve();
        return { leaseMs };
      },
      beginSpend: async () => {
        await ledger.begin();
        return {};
      },
      renewSpend: async ({ callIds }: { callIds: string[] }) => {
        ledger.renewed.push([...callIds]);
        return {};
      },
      meterSpend: async (request: { changes: SpendChange[] }) => ({
        left: await ledger.left(request.changes),
        leaseMs,
      }),
      settleSpend: async ({ settlements }: { settlements: SpendSettlement[] }) => {
        await ledger.settle();
        ledger.settled.push(settlements.map(({ call, served }) => `${call.callId} ${call.costUsdE8} ${served}`));
        return {};
      },
    },
    log: silent,
  });
  await meter.start();
  t.teardown(() => meter.stop());
  const open = (callId: string, tenantId = 1) =>
    meter.open({ tenantId, requestId: 'r', callId, operation: 'session' } satisfies CallAccount);
  return { meter, ledger, open };
}

test('a call is reserved, and settled once it has ended', async (t) => {
  const { ledger, open } = await metered(t);
  const call = open('a');
  await call.reserve(spent, true);
  t.deepEqual(ledger.settled, []);
  await call.settle(outcome);
  t.deepEqual(ledger.settled, [['a 70 true']]);
});

test('settlements of one tenant are batched once one of them is stored, concurrently with those of others', async (t) => {
  const { ledger, open } = await metered(t);
  const gate = createGate();
  ledger.settle = () => gate.pass();
  let left = 0;
  ledger.left = async (changes) => {
    left += changes.length;
    return changes.map((_, place) => place);
  };
  const all = ['a', 'b', 'c'].map((id) => open(id).settle(outcome));
  const other = open('x', 2).settle(outcome);
  await eventually('all are left', () => left === 4);
  gate.open();
  await Promise.all([...all, other]);
  t.deepEqual(
    ledger.settled.map((batch) => batch.length).toSorted((a, b) => a - b),
    [1, 1, 2],
  );
  t.deepEqual(ledger.settled.flat().toSorted(), ['a 70 true', 'b 70 true', 'c 70 true', 'x 70 true']);
});

test('a settlement is retried while the ledger is unavailable, and callers wait for it only briefly', async (t) => {
  const { ledger, open } = await metered(t);
  let failures = 0;
  ledger.settle = async () => {
    if (failures < 4) {
      failures += 1;
      throw unavailable('identity is not available');
    }
  };
  await open('a').settle(outcome);
  await eventually('it is stored', () => ledger.settled.length === 1);
  t.is(failures, 4);
});

test('a refused reservation needs no settlement; one whose answer was lost does', async (t) => {
  const { ledger, open } = await metered(t);
  const refusal = new DomainError('invalid', 'cap', { reason: 'SPEND_CAP_REACHED' });
  ledger.reserve = () => Promise.reject(refusal);
  t.is(await t.throwsAsync(open('a').reserve(spent, true)), refusal);
  ledger.reserve = () => Promise.reject(unavailable('identity is not available'));
  t.like(await t.throwsAsync(open('b').reserve(spent, true)), { kind: 'unavailable' });
  await eventually('it is released', () => ledger.settled.length === 1);
  t.deepEqual(ledger.settled, [['b 0 false']]);
});

test("a call that exceeds the platform's ceiling is refused with that reason", async (t) => {
  const { ledger, open } = await metered(t);
  const reason = 'PLATFORM_CEILING_REACHED';
  ledger.reserve = () => Promise.reject(new DomainError('unavailable', 'identity is not available', { reason }));
  t.like(await t.throwsAsync(open('a').reserve(spent, true)), {
    kind: 'unavailable',
    reason,
    message: 'The platform has reached its monthly ceiling of LLM spend',
  });
});

test('a call of a deleted tenant is refused with that reason, and nothing is settled', async (t) => {
  const { ledger, open } = await metered(t);
  ledger.reserve = () => Promise.reject(new DomainError('notFound', 'Ledger 1 not found'));
  t.like(await t.throwsAsync(open('a').reserve(spent, true)), {
    kind: 'forbidden',
    reason: 'TENANT_DELETED',
    message: 'The tenant was deleted',
  });
  t.deepEqual(ledger.settled, []);
});

test('a call whose reservation has ended must not begin', async (t) => {
  const { ledger, open } = await metered(t);
  ledger.begin = () => Promise.reject(new DomainError('notFound', 'none'));
  t.like(await t.throwsAsync(open('a').begin()), { kind: 'unavailable' });
});

test('the leases of calls under way are renewed until they are settled', async (t) => {
  const { ledger, open, meter } = await metered(t, { leaseMs: 30 });
  const [one, two] = [open('a'), open('b')];
  await one.reserve(spent, true);
  await two.reserve(spent, true);
  await meter.renewNow();
  t.deepEqual(ledger.renewed.at(-1), ['a', 'b']);
  await one.settle(outcome);
  await meter.renewNow();
  t.deepEqual(ledger.renewed.at(-1), ['b']);
  await two.settle(outcome);
  const before = ledger.renewed.length;
  await meter.renewNow();
  t.is(ledger.renewed.length, before);
});

test('changes of several tenants are batched while earlier ones run, and failed changes are retried separately', async (t) => {
  const { meter, ledger, open } = await metered(t);
  const gate = createGate();
  const batches: string[][] = [];
  ledger.left = async (changes) => {
    batches.push(changes.map(({ tenantId, change }) => `${tenantId} ${change.$case}`));
    await gate.pass();
    return changes.flatMap(({ tenantId }, place) => (tenantId === 3 ? [place] : []));
  };
  const calls = [1, 2, 3, 4].map((tenantId) => ({ tenantId, call: open(`of ${tenantId}`, tenantId) }));
  const alone: string[] = [];
  ledger.reserve = async () => void alone.push('reserved');
  const reserved = calls.map(({ call }) => call.reserve(spent, true));
  const settled = open('x', 5).settle(outcome);
  gate.open();
  await Promise.all([...reserved, settled]);
  t.deepEqual(batches, [['1 reserve'], ['2 reserve'], ['3 reserve', '4 reserve', '5 settle']]);
  t.deepEqual(alone, ['reserved']);
  t.deepEqual(ledger.settled, [], 'it was settled with the others');
  await meter.renewNow();
  t.deepEqual(ledger.renewed.flat().toSorted(), ['of 1', 'of 2', 'of 3', 'of 4']);
});

test('calls of one tenant are in the next batch, however many calls another tenant makes', async (t) => {
  const { ledger, open } = await metered(t);
  const gate = createGate();
  const steps: number[][] = [];
  ledger.left = async (changes) => {
    steps.push(changes.map(({ tenantId }) => tenantId));
    await gate.pass();
    return [];
  };
  const flood = Array.from({ length: 1_000 }, (_, n) => open(`call ${n}`, 1).reserve(spent, true));
  const other = open('of another', 2).reserve(spent, true);
  gate.open();
  await Promise.all([...flood, other]);
  t.deepEqual(steps.slice(0, 2), [[1], [1]], 'they were under way before');
  t.true(steps[2]?.includes(2));
});

test('a batch that fails or gets no answer is retried call by call', async (t) => {
  const { ledger, open } = await metered(t);
  ledger.left = () => Promise.reject(unavailable('identity is not available'));
  const call = open('a');
  await call.reserve(spent, true);
  await call.settle(outcome);
  t.deepEqual(ledger.settled, [['a 70 true']]);
});

test('a call that is refused after a batch of unknown outcome is released, because that batch may still reserve it', async (t) => {
  const { ledger, open } = await metered(t);
  const refusal = new DomainError('invalid', 'cap', { reason: 'SPEND_CAP_REACHED' });
  ledger.left = () => Promise.reject(unavailable('identity is not available'));
  ledger.reserve = () => Promise.reject(refusal);
  t.is(await t.throwsAsync(open('a').reserve(spent, true)), refusal);
  await eventually('it is released', () => ledger.settled.length === 1);
  t.deepEqual(ledger.settled, [['a 0 false']]);
});
