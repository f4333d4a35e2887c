import { randomBytes } from 'node:crypto';
import type { TenantCaller } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import { createLogger } from '@parley/kernel/telemetry/log';
import { createMetrics } from '@parley/kernel/telemetry/metrics';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import { outboundPolicy } from '@parley/outbound/outbound-policy';
import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import type { Database } from '@parley/postgres/database/types';
import { type Bound, bound } from '@parley/testing/bound';
import { testSchema } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import { agentSchema } from '../src/agent-schema.ts';
import { agentReader } from '../src/agents/agent-reader.ts';
import { configOptions } from '../src/agents/catalogue.ts';
import { createAgent } from '../src/agents/create-agent.ts';
import { deleteAgent } from '../src/agents/delete-agent.ts';
import { agentsByIds, countAgents, findAgent, getAgent, listAgents, listAuditLogs } from '../src/agents/read-agents.ts';
import { resolveEmbedAgent } from '../src/agents/resolve-embed-agent.ts';
import { updateAgent } from '../src/agents/update-agent.ts';
import { readAgentConfig } from '../src/config.ts';
import type { AgentToolInput, CreateAgentInput } from '../src/generated/schema.ts';
import { callCosts } from '../src/metering/call-cost.ts';
import { describeModel } from '../src/model-choice/describe-model.ts';
import { modelChains } from '../src/models/model-chains.ts';
import { readModelSettings } from '../src/models/model-settings.ts';
import { createModels } from '../src/models/models.ts';
import type { Ports } from '../src/ports.ts';
import { generate } from '../src/text-generations/generate.ts';
import { generationBudget, imageBudget } from '../src/text-generations/tenant-budget.ts';
import { runTurn } from '../src/turns/run-turn.ts';

export const useCases = {
  createAgent,
  updateAgent,
  deleteAgent,
  findAgent,
  getAgent,
  agentsByIds,
  listAgents,
  countAgents,
  listAuditLogs,
  configOptions,
  resolveEmbedAgent,
  runTurn,
  describeModel,
  generate,
};

/** The use cases, bound to their dependencies. */
export type App = Bound<typeof useCases>;

export interface AgentApp {
  app: App;
  database: Database;
}

/** Creates the use cases of agent on the test's own schema, with the offline model and without servers. */
export async function agentApp(
  t: ExecutionContext,
  limits: Partial<Pick<Ports, 'maxHiddenAgents'>> = {},
): Promise<AgentApp> {
  const database = await testSchema(t, agentSchema);
  return { app: bound(useCases, { ...offlinePorts(database), ...limits }), database };
}

const secretsKey = randomBytes(32);

/** The secrets that every tenant has. */
export const provisioned = new Set(['WEBHOOK_KEY']);

/** Creates ports that have no ledger, and only the offline model, which responds without pauses. */
export function offlinePorts(database: Database): Ports {
  const log = createLogger('agent', { LOG_LEVEL: 'silent' });
  const settings = { ...readModelSettings({}), offlineWordPaceMs: 0 };
  const models = modelChains(createModels(settings, log), log, createMetrics('agent'));
  const { documentation, passages, maxHiddenAgents, tools, workflowRuns, workflows, outbound } = readAgentConfig({
    SECRETS_KEYS: secretsKey.toString('base64'),
  });
  const unmetered = { reserve: async () => undefined, begin: async () => undefined, settle: async () => undefined };
  return {
    database: wholeRowsDatabase(database),
    box: createSecretBox([secretsKey]),
    eventLog: memoryEventLog(),
    models,
    readAgent: agentReader(database),
    chooseModel: async () => models.chain(),
    metering: { meter: { open: () => unmetered }, costs: callCosts(settings.prices), metrics: models.metrics },
    admittedGenerations: new Map(),
    images: imageBudget(),
    generationLeaseMs: 30_000,
    generations: generationBudget(),
    identity: {
      getAvatarConfig: async () => ({
        gender: 'FEMALE',
        glbModel: 'aria.glb',
        languageCode: 'en-US',
        speakingRate: 1,
      }),
      hasTenantSecret: async ({ name = '' }) => ({ exists: provisioned.has(name) }),
    },
    knowledge: {
      async checkKnowledgeBases({ knowledgeBaseIds = [] }) {
        const absent = knowledgeBaseIds.find((id) => id > 9);
        if (absent !== undefined) throw notFound('Knowledge base', absent);
        return {};
      },
      listKnowledgeBases: async () => ({ knowledgeBases: [] }),
      retrieve: async () => ({ passages: [], searchFailed: false }),
    },
    passages,
    action: {
      checkTools: async () => ({}),
      describeTools: async () => ({ tools: [], missing: [] }),
      listTools: async () => ({ connectors: [], tools: [] }),
      callTool: async () => ({}),
      callAction: async () => ({}),
      listTurnCalls: async () => ({ calls: [] }),
    },
    tools,
    workflowRuns,
    runAccess: { ofTurn: async () => undefined, ofTask: async () => undefined },
    workflows,
    maxHiddenAgents,
    avatarModels: { list: async () => [{ id: 'aria', filename: 'aria.glb', label: 'Aria', gender: 'FEMALE' }] },
    documentation,
    outbound: outboundPolicy(outbound),
    log,
  };
}

/** Returns a signed-in user of a tenant. */
export function inTenant(tenantId: number, displayName = 'Grace Hopper'): TenantCaller {
  return { kind: 'user', tenantId, userId: 70 + tenantId, displayName, signInId: 's', requestId: 'test' };
}

/** The required fields of `createAgent`. */
export const ada = {
  name: 'Ada',
  personaPrompt: 'You are Ada, a patient maths tutor.',
  position: 'Maths tutor',
} satisfies CreateAgentInput;

/** A value for every field of createAgent. */
export const everyField = {
  ...ada,
  subject: 'Fractions',
  openingGreeting: 'Hello, shall we start?',
  useCase: 'EDUCATION',
  voiceTier: 'NEURAL2',
  ttsVoice: 'en-gb+f3',
  ttsLang: 'en-GB',
  speakingRate: 1.25,
  vadThreshold: 0.75,
  avatarGlb: 'aria.glb',
  avatarGender: 'F',
  lipsyncLang: 'en',
  evaluationPromptTemplate: 'Judge {{ agent.name }} by {{ labels | join: ", " }}.',
  evaluationRecommendationLabels: ['GO', 'STAY'],
  externalSyncUrl: 'https://hooks.example.com/parley?team=7',
  externalSyncSecretRef: 'WEBHOOK_KEY',
  externalSyncOwnerId: 12,
  externalSyncSchemaConfig: { score: '$.score', 'full name': '$.person.name' },
  llmProviderOverride: 'CLOUD_HOSTED_MODELS',
  llmModelOverride: 'gpt-4o',
  avatarBackend: 'HOSTED_API',
  avatarBackendConfig: { vendorAvatarId: 'v-1', vendorAvatarModel: 'studio' },
  knowledgeBaseIds: [3, 1],
  tools: [{ connectorId: 3, tool: 'search' }, { actionId: 5 }],
} as const satisfies Omit<
  Required<CreateAgentInput>,
  'evaluationRecommendationLabels' | 'knowledgeBaseIds' | 'tools'
> & {
  evaluationRecommendationLabels: readonly string[];
  knowledgeBaseIds: readonly number[];
  tools: readonly AgentToolInput[];
};

/** Returns a mutable copy of `everyField`. */
export function everyFieldInput(): CreateAgentInput {
  const { evaluationRecommendationLabels: labels, knowledgeBaseIds: bases, tools } = everyField;
  return {
    ...everyField,
    evaluationRecommendationLabels: [...labels],
    knowledgeBaseIds: [...bases],
    tools: [...tools],
  };
}
