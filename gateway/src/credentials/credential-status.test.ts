import type { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { RpcClient } from '@parley/rpc/client';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { credentialCalls } from './credential-calls.ts';
import { createCredentialStatus } from './credential-status.ts';

const flooding = { ip: '192.0.2.1', requestId: 'r-1' };
const other = { ip: '192.0.2.2', requestId: 'r-2' };

test('two clients that need the same answer wait in their own queues, and it is fetched once', async (t) => {
  const gate = createGate();
  const asked: string[] = [];
  const identity: Partial<RpcClient<typeof IdentityServiceDefinition>> = {
    async getTenant({ tenantId = 0 }) {
      asked.push(`tenant ${tenantId}`);
      if (tenantId === 1) await gate.pass();
      return { tenantId, plan: 'DEV', suspended: false, deleted: false, llmProviderOverride: '', llmModelOverride: '' };
    },
  };
  const credentialStatus = createCredentialStatus({
    identity: () => identity as RpcClient<typeof IdentityServiceDefinition>,
    session: () => t.fail(),
    calls: credentialCalls({ limits: { shares: { address: { inFlight: 1, waiting: 2 }, tenant: {} } } }),
  });
  const many = [1, 2, 2].map((tenantId) => credentialStatus.tenant(tenantId, flooding));
  t.like(await t.throwsAsync(credentialStatus.tenant(3, flooding)), { kind: 'tooManyRequests' });
  t.like(await credentialStatus.tenant(2, other), { deleted: false });
  t.like(await credentialStatus.tenant(2, flooding), { deleted: false }, 'a cached answer is not queued');
  gate.open();
  await Promise.all(many);
  t.deepEqual(asked, ['tenant 1', 'tenant 2']);
});
