import { randomBytes } from 'node:crypto';
import { type Caller, callerHeader, createCallers, type TenantCaller } from '@parley/kernel/caller';
import { type Addresses, createAddresses } from '@parley/kernel/processes/addresses';
import type { Database } from '@parley/postgres/database/types';
import type { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import { type RunningService, startService } from '@parley/testing/service-harness';
import { testSchema } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import { agentSchema } from '../src/agent-schema.ts';
import type { Agent } from '../src/agents/agent.ts';
import { agent } from '../src/service.ts';
import { type StubLedger, startLedger } from './ledger.ts';
import { type ScriptedAction, scriptedAction } from './scripted-action.ts';
import { type ScriptedKnowledge, scriptedKnowledge } from './scripted-knowledge.ts';

export interface AgentUnit extends Pick<RunningService<unknown, AgentServiceDefinition>, 'rpc' | 'graph' | 'database'> {
  /** Addresses of the agent service and of the services that it calls. */
  addresses: Addresses;
  ledger: StubLedger;
  knowledge: ScriptedKnowledge;
  action: ScriptedAction;
  /** Queries the subgraph as a gateway does; the connection closes when the signal aborts. */
  ask(caller: Caller, query: string, variables: object, signal: AbortSignal): Promise<Response>;
  /** Returns how many transactions the unit has started so far. */
  transactions(): number;
}

export const secretsKeys = { SECRETS_KEYS: randomBytes(32).toString('base64') };

/**
 * Starts the whole agent service, with stub services on loopback and its own database schema.
 * @param migrated whether the schema is migrated before the unit starts; if false, the unit migrates it
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
  const callers = createCallers(randomBytes(32));
  const addresses = createAddresses({});
  const ledger = await startLedger(t, { callers, addresses });
  const knowledge = await scriptedKnowledge(t, { callers, addresses });
  const action = await scriptedAction(t, { callers, addresses });
  const given = { callers, addresses, development: false };
  const { rpc, graph } = await startService(t, agent, {
    env: { ...secretsKeys, ...env },
    migrated,
    database: counted,
    dependencies: given,
  });
  return {
    rpc,
    graph,
    async ask(caller, query, variables, signal) {
      const headers = { 'content-type': 'application/json', [callerHeader]: await callers.mint(caller, 'agent') };
      const body = JSON.stringify({ query, variables });
      return fetch(addresses.of('agent', 'graph'), { method: 'POST', headers, body, signal });
    },
    database,
    addresses,
    ledger,
    knowledge,
    action,
    transactions: () => transactions,
  };
}

/** Returns a signed-in user of a tenant. */
export function inTenant(tenantId: number, displayName = 'Ada Lovelace'): TenantCaller {
  return { kind: 'user', tenantId, userId: 70 + tenantId, displayName, signInId: 's', requestId: 'test' };
}

/** The required fields of `createAgent`. */
export const ada = { name: 'Ada', personaPrompt: 'You are Ada, a patient maths tutor.', position: 'Maths tutor' };

/** Creates an agent over GraphQL. */
export async function createAgent(
  unit: AgentUnit,
  caller: Caller,
  input: Record<string, unknown> = {},
): Promise<Agent> {
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
  avatarBackend avatarBackendConfig knowledgeBaseIds tools { connectorId tool actionId } createdAt updatedAt`;
