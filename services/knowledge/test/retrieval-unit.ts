import { randomBytes } from 'node:crypto';
import { createCallers, type TenantCaller } from '@parley/kernel/caller';
import { createAddresses } from '@parley/kernel/processes/addresses';
import type { Database } from '@parley/postgres/database/types';
import { startService } from '@parley/testing/service-harness';
import type { ExecutionContext } from 'ava';
import { knowledge } from '../src/service.ts';
import { startLedger } from './identity-stub.ts';

/** Starts the whole unit with a ledger in memory. */
export async function retrievalUnit(
  t: ExecutionContext,
  { env = {}, database }: { env?: Record<string, string>; database?: Database } = {},
) {
  const callers = createCallers(randomBytes(32));
  const addresses = createAddresses({});
  const ledger = await startLedger(t, { callers, addresses });
  const running = await startService(t, knowledge, {
    env,
    ...(database && { database }),
    dependencies: { callers, addresses },
  });
  return { ...running, ledger };
}

export function userOf(tenantId: number): TenantCaller {
  return { kind: 'user', tenantId, userId: 1, signInId: 's', requestId: 'test' };
}

export function keyOf(tenantId: number): TenantCaller {
  return { kind: 'apiKey', tenantId, apiKeyId: 9, requestId: 'test' };
}
