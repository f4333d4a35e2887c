import { notFound, unavailable } from '@parley/kernel/errors';
import { GetTenantResponse } from '@parley/protos/parley/identity/v1/identity';
import test from 'ava';
import { findTenant, type TenantFactOptions, tenantFact } from './tenant-facts.ts';

const inTenant = (tenantId: number) => ({ kind: 'service', service: 'notes', tenantId, requestId: 'r' }) as const;
const unabortedSignal = new AbortController().signal;

/** A fake identity service with the given answer, and a clock. */
function identityWith(answer: (tenantId: number) => Partial<GetTenantResponse>) {
  const asked: number[] = [];
  const clock = { ms: 0 };
  async function getTenant({ tenantId = 0 }: { tenantId?: number | undefined }): Promise<GetTenantResponse> {
    asked.push(tenantId);
    return GetTenantResponse.fromPartial({ tenantId, ...answer(tenantId) });
  }
  const planOf = (options: Partial<TenantFactOptions<string>> = {}) =>
    tenantFact({ getTenant }, { read: ({ plan }) => plan, keepMs: 1_000, nowMs: () => clock.ms, ...options });
  return { identity: { getTenant }, asked, clock, planOf };
}

test('a fact is requested once per tenant within its cache time, also by concurrent calls', async (t) => {
  let plan = 'DEV';
  const { asked, clock, planOf } = identityWith(() => ({ plan }));
  const planFor = planOf();
  await Promise.all([planFor(inTenant(1)), planFor(inTenant(1)), planFor(inTenant(2))]);
  plan = 'TEAM';
  clock.ms = 999;
  t.is(await planFor(inTenant(1)), 'DEV');
  t.deepEqual(asked, [1, 2]);
  clock.ms = 1_000;
  t.is(await planFor(inTenant(1)), 'TEAM');
  t.deepEqual(asked, [1, 2, 1]);
});

test('without a fallback a failure is not kept, and the next call asks again', async (t) => {
  let isAway = true;
  const { asked, planOf } = identityWith(() => {
    if (isAway) throw unavailable('identity is away');
    return { plan: 'DEV' };
  });
  const planFor = planOf();
  t.like(await t.throwsAsync(planFor(inTenant(1))), { kind: 'unavailable' });
  isAway = false;
  t.is(await planFor(inTenant(1)), 'DEV');
  t.deepEqual(asked, [1, 1]);
});

test('a fallback gets the last known fact, also after several failures, and is kept as long', async (t) => {
  let isAway = false;
  const { asked, clock, planOf } = identityWith(() => {
    if (isAway) throw unavailable('identity is away');
    return { plan: 'DEV' };
  });
  const planFor = planOf({ fallBack: (_error, tenantId, lastKnown = `none of ${tenantId}`) => lastKnown });
  await planFor(inTenant(1));
  isAway = true;
  for (clock.ms = 1_000; clock.ms <= 3_000; clock.ms += 1_000) t.is(await planFor(inTenant(1)), 'DEV');
  t.is(await planFor(inTenant(2)), 'none of 2');
  await planFor(inTenant(2));
  t.deepEqual(asked, [1, 1, 1, 1, 2]);
});

test('a tenant is read without a cache, and not found once it is deleted', async (t) => {
  let tenant: Partial<GetTenantResponse> | undefined = { suspended: true };
  const { identity } = identityWith(() => {
    if (!tenant) throw notFound('Tenant', 1);
    return tenant;
  });
  t.like(await findTenant(identity, inTenant(1), unabortedSignal), { tenantId: 1, suspended: true });
  tenant = { deleted: true };
  t.is(await findTenant(identity, inTenant(1), unabortedSignal), undefined);
  tenant = undefined;
  t.is(await findTenant(identity, inTenant(1), unabortedSignal), undefined);
});
