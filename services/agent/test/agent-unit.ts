import { createAddresses } from '@parley/kernel/addresses';
import type { Caller, TenantCaller } from '@parley/kernel/caller';
import type { Database } from '@parley/postgres/database/types';
import type { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import { type RunningService, startService } from '@parley/testing/service-harness';
import { testSchema } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import type { Agent } from '../src/agent.ts';
import { agentSchema } from '../src/agent-schema.ts';
import { agent } from '../src/service.ts';

export interface AgentUnit extends Pick<RunningService<unknown, AgentServiceDefinition>, 'rpc' | 'graph' | 'database'> {
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
  const addresses = createAddresses({ IDENTITY_RPC_URL: '127.0.0.1:1' }); // nobody is there
  const given = { addresses, development: false };
  const { rpc, graph } = await startService(t, agent, { env, migrated, database: counted, given });
  return { rpc, graph, database, transactions: () => transactions };
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
