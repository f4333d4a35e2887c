import { randomBytes } from 'node:crypto';
import { type Caller, callerHeader, createCallers } from '@parley/chassis/caller';
import { memoryEventLog } from '@parley/chassis/event-log/memory-event-log';
import { inProcessEventBus } from '@parley/chassis/events/in-process-event-bus';
import { memoryKeyValue } from '@parley/chassis/key-value/memory-key-value';
import { absentObjectStore } from '@parley/chassis/object-store/object-store';
import { rpcClient } from '@parley/chassis/rpc/client';
import { createAddresses, type Surroundings } from '@parley/chassis/surroundings';
import { testSchema } from '@parley/chassis/testing/test-schema';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import type { ExecutionContext } from 'ava';
import { readIdentityConfig } from '../../src/config.ts';
import { identitySchema } from '../../src/identity-schema.ts';
import { identity } from '../../src/service.ts';

/** What a GraphQL answer holds. */
export interface GraphAnswer {
  status: number;
  data?: Record<string, unknown> | null;
  errors?: { message: string; extensions?: Record<string, unknown> }[];
}

/**
 * The whole unit on real ports of this machine, with its neighbours' engines in memory. Where its schema is not migrated
 * beforehand, it does that itself.
 */
export async function identityUnit(t: ExecutionContext, { migrated = true } = {}) {
  const database = await testSchema(t, identitySchema, { migrate: migrated });
  const callers = createCallers(randomBytes(32));
  const around: Surroundings = {
    database: () => database,
    keyValue: memoryKeyValue(),
    eventLog: memoryEventLog(),
    eventBus: inProcessEventBus({ deadLetters: { append: async () => undefined } }),
    objectStore: absentObjectStore(),
    addresses: createAddresses({}),
    callers,
    host: '127.0.0.1',
    migrateOnStart: !migrated,
    soleOwner: true,
    development: true,
  };
  const config = readIdentityConfig({ SECRETS_KEYS: randomBytes(32).toString('base64') });
  const unit = identity(config, around);
  await unit.start();
  t.teardown(() => unit.stop());

  const client = rpcClient({
    definition: IdentityServiceDefinition,
    unit: 'identity',
    address: () => around.addresses.of('identity', 'rpc'),
    callers,
  });
  await client.start();
  t.teardown(() => client.stop());

  return {
    unit,
    around,
    rpc: client.calls,
    /** Asks the subgraph as the gateway does, or with no caller at all. */
    async graph(caller: Caller | null, query: string, variables: object = {}): Promise<GraphAnswer> {
      const response = await fetch(around.addresses.of('identity', 'graph'), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(caller && { [callerHeader]: await callers.mint(caller, 'identity') }),
        },
        body: JSON.stringify({ query, variables }),
      });
      const answer: Omit<GraphAnswer, 'status'> = JSON.parse(await response.text());
      return { status: response.status, ...answer };
    },
  };
}
