import { type Caller, createCallers } from '@parley/kernel/caller';
import { AdminServiceDefinition } from '@parley/protos/parley/identity/v1/admin';
import { rpcClient } from '@parley/rpc/client';
import type { ExecutionContext } from 'ava';
import type { CredentialMesh } from './credentials.ts';

export const operator: Caller = { kind: 'operator', displayName: 'stories', tenantId: null, requestId: 'stories' };

/** Returns a client of the RPCs that `scripts/admin` calls. */
export async function operatorOf(t: ExecutionContext, { operatorKey, addresses }: CredentialMesh) {
  const client = rpcClient({
    definition: AdminServiceDefinition,
    unit: 'identity',
    address: () => addresses('identity', 'rpc')[0] ?? '',
    callers: createCallers(operatorKey),
  });
  await client.start();
  t.teardown(() => client.stop());
  return client.calls;
}
