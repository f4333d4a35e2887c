import { randomBytes } from 'node:crypto';
import { createCallers } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import { createAddresses } from '@parley/kernel/processes/addresses';
import {
  IdentityServiceDefinition,
  type SpendSettlement,
  type TenantQuotas,
} from '@parley/protos/parley/identity/v1/identity';
import type { KnowledgeServiceDefinition } from '@parley/protos/parley/knowledge/v1/knowledge';
import { connectStorage } from '@parley/testing/object-stores';
import { serveStub } from '@parley/testing/serve-stub';
import { type RunningService, startService } from '@parley/testing/service-harness';
import type { ExecutionContext } from 'ava';
import { knowledge } from '../src/service.ts';

/** A stub of identity with the calls that knowledge uses: one plan for all tenants, and a ledger that admits every call. */
export interface StubIdentity {
  quotas: TenantQuotas;
  /** If set, every call fails with `unavailable`. */
  isDown: boolean;
  readonly settled: SpendSettlement[];
}

export interface KnowledgeUnit
  extends Pick<RunningService<unknown, KnowledgeServiceDefinition>, 'rpc' | 'graph' | 'database'> {
  identity: StubIdentity;
}

/** Starts the whole unit on loopback servers and the test's own schema, with the offline embedding and files in a folder. */
export async function knowledgeUnit(t: ExecutionContext, env: Record<string, string> = {}): Promise<KnowledgeUnit> {
  const callers = createCallers(randomBytes(32));
  const addresses = createAddresses({});
  const identity: StubIdentity = {
    quotas: { knowledgeBases: 3, chunks: 5_000, storageMb: 100 },
    isDown: false,
    settled: [],
  };
  const answer = <T>(work: () => T) => {
    if (identity.isDown) throw unavailable('identity is down');
    return work();
  };
  await serveStub(
    t,
    IdentityServiceDefinition,
    {
      getTenant: async ({ tenantId }) =>
        answer(() => ({ tenantId, plan: 'DEV', suspended: false, deleted: false, quotas: { ...identity.quotas } })),
      reserveSpend: async () => answer(() => ({ leaseMs: 30_000 })),
      beginSpend: async () => answer(() => ({})),
      renewSpend: async () => answer(() => ({})),
      settleSpend: async ({ settlements }) => answer(() => ({ settled: identity.settled.push(...settlements) })),
    },
    { callers, addresses },
  );
  const storage = await connectStorage();
  t.teardown(() => storage.close());
  const dependencies = { callers, addresses, objectStore: storage.store };
  const { rpc, graph, database } = await startService(t, knowledge, { env, dependencies });
  return { rpc, graph, database, identity };
}
