import { randomBytes } from 'node:crypto';
import { createCallers, serviceCaller } from '@parley/kernel/caller';
import { createAddresses } from '@parley/kernel/processes/addresses';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { rpcClient } from '@parley/rpc/client';
import test from 'ava';
import { eventually } from './eventually.ts';
import { serveStub } from './serve-stub.ts';

test('a served stub is found under the name of its unit, and restarts at the address that it had', async (t) => {
  const mesh = { callers: createCallers(randomBytes(32)), addresses: createAddresses({}) };
  const stub = await serveStub(
    t,
    IdentityServiceDefinition,
    { getTenant: async ({ tenantId }, { caller }) => ({ tenantId, plan: caller.kind, suspended: false }) },
    mesh,
  );
  const { address } = stub;
  t.is(mesh.addresses.of('identity', 'rpc'), address);
  const identity = rpcClient({
    definition: IdentityServiceDefinition,
    unit: 'identity',
    address: () => mesh.addresses.of('identity', 'rpc'),
    callers: mesh.callers,
  });
  await identity.start();
  t.teardown(() => identity.stop());
  const caller = serviceCaller('test', 7, 'r');
  const ask = () => identity.calls.getTenant({ tenantId: 7 }, { caller, timeoutMs: 5_000 });

  t.like(await ask(), { tenantId: 7, plan: 'service' });
  await stub.stop();
  t.like(await t.throwsAsync(ask()), { kind: 'unavailable' });
  await stub.restart();
  t.is(stub.address, address);
  t.like(await eventually('the client has reconnected', () => ask().catch(() => undefined)), { tenantId: 7 });
});
