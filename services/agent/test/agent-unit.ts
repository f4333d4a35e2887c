import { randomBytes } from 'node:crypto';
import { type Caller, callerHeader, createCallers, type TenantCaller } from '@parley/chassis/caller';
import type { Database } from '@parley/chassis/database/types';
import { memoryEventLog } from '@parley/chassis/event-log/memory-event-log';
import { inProcessEventBus } from '@parley/chassis/events/in-process-event-bus';
import { memoryKeyValue } from '@parley/chassis/key-value/memory-key-value';
import { absentObjectStore } from '@parley/chassis/object-store/object-store';
import { type RpcClient, rpcClient } from '@parley/chassis/rpc/client';
import { createAddresses, type Surroundings } from '@parley/chassis/surroundings';
import { testSchema } from '@parley/chassis/testing/test-schema';
import { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import type { ExecutionContext } from 'ava';
import type { Agent } from '../src/agent.ts';
import { agentSchema } from '../src/agent-schema.ts';
import { readAgentConfig } from '../src/config.ts';
import { agent } from '../src/service.ts';

export interface GraphAnswer {
  data?: Record<string, unknown> | null;
  errors?: { message: string; path?: unknown[]; extensions: Record<string, unknown> }[];
}

export interface AgentUnit {
  /** What the subgraph answers. */
  graph(caller: Caller, query: string, variables?: Record<string, unknown>): Promise<GraphAnswer>;
  rpc: RpcClient<typeof AgentServiceDefinition>;
  /** The unit's database, as the unit sees it. */
  database: Database;
  /** Transactions begun so far. */
  transactions(): number;
}

/**
 * The unit on real loopback servers, which are gone with the test, and a schema of its own. Where that is not migrated beforehand,
 * the unit does it.
 */
export async function agentUnit(
  t: ExecutionContext,
  env: Record<string, string> = {},
  { migrated = true } = {},
): Promise<AgentUnit> {
  const callers = createCallers(randomBytes(32));
  const addresses = createAddresses({ IDENTITY_RPC_URL: '127.0.0.1:1' }); // nobody is there
  const database = await testSchema(t, agentSchema, { migrate: migrated });
  let transactions = 0;
  const counted: Database = {
    ...database,
    transact: (tenantId, work) => {
      transactions += 1;
      return database.transact(tenantId, work);
    },
    read: (tenantId, work) => {
      transactions += 1;
      return database.read(tenantId, work);
    },
  };
  const around: Surroundings = {
    database: () => counted,
    keyValue: memoryKeyValue(),
    eventLog: memoryEventLog(),
    eventBus: inProcessEventBus({ deadLetters: { append: () => Promise.reject(new Error('none is expected')) } }),
    objectStore: absentObjectStore(),
    addresses,
    callers,
    host: '127.0.0.1',
    migrateOnStart: !migrated,
    soleOwner: true,
    development: false,
  };
  const unit = agent(readAgentConfig(env), around);
  const client = rpcClient({
    definition: AgentServiceDefinition,
    unit: 'agent',
    address: () => addresses.of('agent', 'rpc'),
    callers,
  });
  await unit.start();
  t.teardown(() => unit.stop());
  await client.start();
  t.teardown(() => client.stop());

  return {
    rpc: client.calls,
    database,
    transactions: () => transactions,
    async graph(caller, query, variables = {}) {
      const response = await fetch(addresses.of('agent', 'graph'), {
        method: 'POST',
        headers: { 'content-type': 'application/json', [callerHeader]: await callers.mint(caller, 'agent') },
        body: JSON.stringify({ query, variables }),
      });
      return (await response.json()) as GraphAnswer;
    },
  };
}

/** A user who is in a tenant. */
export function inTenant(tenantId: number, displayName = 'Ada Lovelace'): TenantCaller {
  return { kind: 'user', tenantId, userId: 70 + tenantId, displayName, signInId: 's', requestId: 'test' };
}

/** What every agent needs. */
export const ada = { name: 'Ada', personaPrompt: 'You are Ada, a patient maths tutor.', position: 'Maths tutor' };

/** Makes an agent over the wire. */
export async function made(unit: AgentUnit, caller: Caller, input: Record<string, unknown> = {}): Promise<Agent> {
  const { data, errors } = await unit.graph(
    caller,
    `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { ${allFields} } }`,
    { input: { ...ada, ...input } },
  );
  if (errors) throw new Error(JSON.stringify(errors));
  return data?.['createAgent'] as Agent;
}

export const allFields = `id name personaPrompt position subject openingGreeting useCase status workflowId voiceTier ttsVoice ttsLang
  speakingRate vadThreshold avatarGlb avatarGender lipsyncLang evaluationPromptTemplate evaluationRecommendationLabels
  externalSyncUrl externalSyncSecretRef externalSyncOwnerId externalSyncSchemaConfig llmProviderOverride llmModelOverride
  avatarBackend avatarBackendConfig createdAt updatedAt`;
