import type { TenantCaller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type { GetTenantResponse } from '@parley/protos/parley/identity/v1/identity';
import test from 'ava';
import { tenantQuotas } from './quotas.ts';

const caller = (tenantId: number): TenantCaller => ({ kind: 'user', tenantId, userId: 1, requestId: 'test' });

/** A stub of the identity service that returns a plan. It records for which tenants it was asked. */
function identity(answer: () => Partial<GetTenantResponse>) {
  const asked: number[] = [];
  const clock = { ms: 0 };
  const quotas = tenantQuotas(
    {
      async getTenant({ tenantId }) {
        asked.push(tenantId ?? 0);
        return answer() as GetTenantResponse;
      },
    },
    () => clock.ms,
  );
  return { asked, clock, quotas };
}

test('the quotas of a plan come from identity, with storage in MB of 2^20 bytes', async (t) => {
  const { quotas } = identity(() => ({ quotas: { knowledgeBases: 3, chunks: 5_000, storageMb: 1_000_000 } }));
  t.deepEqual(await quotas(caller(1)), { knowledgeBases: 3, chunks: 5_000, storageBytes: 1_000_000 * 2 ** 20 });
});

test('identity is asked once a second for each tenant', async (t) => {
  let chunks = 1;
  const { quotas, asked, clock } = identity(() => ({ quotas: { knowledgeBases: 1, chunks, storageMb: 1 } }));
  await Promise.all([quotas(caller(1)), quotas(caller(1)), quotas(caller(2))]);
  t.deepEqual(asked, [1, 2]);
  chunks = 2;
  clock.ms = 999;
  t.is((await quotas(caller(1))).chunks, 1);
  clock.ms = 1_000;
  t.is((await quotas(caller(1))).chunks, 2);
});

test('if identity does not respond, quotas are unavailable, and the next call asks again', async (t) => {
  let isAway = true;
  const { quotas, asked } = identity(() => {
    if (isAway) throw unavailable('identity is away');
    return { quotas: { knowledgeBases: 1, chunks: 1, storageMb: 1 } };
  });
  t.like(await t.throwsAsync(quotas(caller(1))), { kind: 'unavailable' });
  isAway = false;
  t.is((await quotas(caller(1))).chunks, 1);
  t.deepEqual(asked, [1, 1]);
});

test('quotas are unavailable from a version of identity that does not know them', async (t) => {
  const { quotas } = identity(() => ({}));
  t.like(await t.throwsAsync(quotas(caller(1))), { kind: 'unavailable' });
});

test('a tenant that was suspended or deleted during a request has no quotas, so that nothing more is stored', async (t) => {
  const quotasOf = (state: object) =>
    identity(() => ({ ...state, quotas: { knowledgeBases: 1, chunks: 1, storageMb: 1 } })).quotas(caller(1));
  const refused = { kind: 'forbidden' } as const;
  t.like(await t.throwsAsync(quotasOf({ suspended: true })), { ...refused, reason: 'TENANT_SUSPENDED' });
  t.like(await t.throwsAsync(quotasOf({ suspended: true, deleted: true })), { ...refused, reason: 'NO_TENANT' });
});
