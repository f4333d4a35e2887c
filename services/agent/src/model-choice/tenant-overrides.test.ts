import { unavailable } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/telemetry/log';
import type { GetTenantResponse } from '@parley/protos/parley/identity/v1/identity';
import test from 'ava';
import { tenantOverrides } from './tenant-overrides.ts';

const log = createLogger('agent', { LOG_LEVEL: 'silent' });
const inTenant = (tenantId: number) => ({ kind: 'service', service: 'session', tenantId, requestId: 'r' }) as const;

/** Creates a fake of the identity service with the given answer, and a manual clock. */
function fakeIdentity(answer: (tenantId: number) => Promise<Partial<GetTenantResponse>>) {
  const asked: number[] = [];
  let nowMs = 1_000;
  const getTenant = async ({ tenantId = 0 }: { tenantId?: number | undefined }): Promise<GetTenantResponse> => {
    asked.push(tenantId);
    const facts = { tenantId, plan: 'DEV', suspended: false, deleted: false };
    return { ...facts, llmProviderOverride: '', llmModelOverride: '', ...(await answer(tenantId)) };
  };
  return {
    asked,
    advance: (ms: number) => void (nowMs += ms),
    overrides: tenantOverrides({ getTenant }, log, () => nowMs),
  };
}

test('identity is asked once per tenant in five seconds, also by concurrent turns', async (t) => {
  const { asked, advance, overrides } = fakeIdentity(async (tenantId) => ({ llmProviderOverride: `P${tenantId}` }));
  const answers = await Promise.all([overrides(inTenant(1)), overrides(inTenant(1)), overrides(inTenant(2))]);
  t.deepEqual(
    answers.map(({ provider }) => provider),
    ['P1', 'P1', 'P2'],
  );
  advance(4_999);
  await overrides(inTenant(1));
  t.deepEqual(asked, [1, 2]);
  advance(1);
  await overrides(inTenant(1));
  t.deepEqual(asked, [1, 2, 1]);
});

test('while identity is unavailable the last known override is used, else none', async (t) => {
  let unavailableNow = false;
  const { asked, advance, overrides } = fakeIdentity(async () => {
    if (unavailableNow) throw unavailable('identity is not available');
    return { llmProviderOverride: 'DIRECT_MODEL_API', llmModelOverride: 'm' };
  });
  await overrides(inTenant(1));
  unavailableNow = true;
  advance(60_000);
  t.deepEqual(await overrides(inTenant(1)), { provider: 'DIRECT_MODEL_API', model: 'm' });
  t.deepEqual(await overrides(inTenant(2)), { provider: '', model: '' });
  await overrides(inTenant(1));
  t.deepEqual(asked, [1, 1, 2], 'failures are cached');
});

test('a changed override is used once the cached one has expired', async (t) => {
  let provider = 'A';
  const { advance, overrides } = fakeIdentity(async () => ({ llmProviderOverride: provider }));
  t.is((await overrides(inTenant(1))).provider, 'A');
  provider = 'B';
  t.is((await overrides(inTenant(1))).provider, 'A');
  advance(5_000);
  t.is((await overrides(inTenant(1))).provider, 'B');
});
