import { unavailable } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/log';
import type { GetTenantResponse } from '@parley/protos/parley/identity/v1/identity';
import test from 'ava';
import { tenantOverrides } from './tenant-overrides.ts';

const log = createLogger('agent', { LOG_LEVEL: 'silent' });
const inTenant = (tenantId: number) => ({ kind: 'service', service: 'session', tenantId, requestId: 'r' }) as const;

/** An identity that answers as it is told, and a clock that stands still. */
function identityThat(answer: (tenantId: number) => Promise<Partial<GetTenantResponse>>) {
  const asked: number[] = [];
  let nowMs = 1_000;
  const getTenant = async ({ tenantId = 0 }: { tenantId?: number | undefined }): Promise<GetTenantResponse> => {
    asked.push(tenantId);
    const facts = { tenantId, plan: 'DEV', suspended: false, deleted: false };
    return { ...facts, llmProviderOverride: '', llmModelOverride: '', ...(await answer(tenantId)) };
  };
  return {
    asked,
    pass: (ms: number) => void (nowMs += ms),
    overrides: tenantOverrides({ getTenant }, log, () => nowMs),
  };
}

test('identity is asked once in five seconds a tenant, however many turns begin at once', async (t) => {
  const { asked, pass, overrides } = identityThat(async (tenantId) => ({ llmProviderOverride: `P${tenantId}` }));
  const answers = await Promise.all([overrides(inTenant(1)), overrides(inTenant(1)), overrides(inTenant(2))]);
  t.deepEqual(
    answers.map(({ provider }) => provider),
    ['P1', 'P1', 'P2'],
  );
  pass(4_999);
  await overrides(inTenant(1));
  t.deepEqual(asked, [1, 2]);
  pass(1);
  await overrides(inTenant(1));
  t.deepEqual(asked, [1, 2, 1]);
});

test('when identity is away, what it said last holds, else there is no wish', async (t) => {
  let away = false;
  const { asked, pass, overrides } = identityThat(async () => {
    if (away) throw unavailable('identity is not available');
    return { llmProviderOverride: 'DIRECT_MODEL_API', llmModelOverride: 'm' };
  });
  await overrides(inTenant(1));
  away = true;
  pass(60_000);
  t.deepEqual(await overrides(inTenant(1)), { provider: 'DIRECT_MODEL_API', model: 'm' });
  t.deepEqual(await overrides(inTenant(2)), { provider: '', model: '' });
  await overrides(inTenant(1));
  t.deepEqual(asked, [1, 1, 2], 'not every turn waits for an identity that is away');
});

test('a change is seen once what is known has aged', async (t) => {
  let provider = 'A';
  const { pass, overrides } = identityThat(async () => ({ llmProviderOverride: provider }));
  t.is((await overrides(inTenant(1))).provider, 'A');
  provider = 'B';
  t.is((await overrides(inTenant(1))).provider, 'A');
  pass(5_000);
  t.is((await overrides(inTenant(1))).provider, 'B');
});
