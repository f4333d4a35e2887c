import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import { type SpendMeter, spendMeter } from '@parley/metering/spend-meter';
import { outboundPolicy } from '@parley/outbound/outbound-policy';
import { resealing } from '@parley/postgres/reseal';
import { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import { service } from '@parley/service/service';
import { subgraphOf } from '@parley/subgraph/subgraph-of';
import { unitHttp } from '@parley/unit/unit-http';
import { agentReader } from './agents/agent-reader.ts';
import { avatarModels } from './agents/avatar-models.ts';
import { agentDeclaration } from './declaration.ts';
import { contextFor } from './graph/context.ts';
import { resolvers } from './graph/resolvers.ts';
import { callCosts } from './metering/call-cost.ts';
import { modelChooser } from './model-choice/model-choice.ts';
import { tenantOverrides } from './model-choice/tenant-overrides.ts';
import { modelChains } from './models/model-chains.ts';
import { createModels } from './models/models.ts';
import type { Ports } from './ports.ts';
import { agentRpc } from './rpc.ts';
import { sealedColumns } from './sealed-columns.ts';
import { agentSubscriptions } from './subscriptions.ts';
import { keptGenerationSweep } from './text-generations/sweep-kept-generations.ts';
import { generationBudget, imageBudget } from './text-generations/tenant-budget.ts';
import { textGenerationJob } from './text-generations/text-generation-job.ts';
import { runAccess } from './workflow-runs/run-access.ts';
import { workflowRunSweep } from './workflow-runs/sweep-workflow-runs.ts';

export const agent = service(agentDeclaration, {
  dependencies({
    config,
    addresses,
    database,
    eventLog,
    keyValue,
    calls,
    log,
    metrics,
  }): Ports & { metering: { meter: SpendMeter } } {
    const models = createModels(config.models, log);
    const chains = modelChains(models, log, metrics);
    metrics.gauge('parley_agent_model_calls_waiting', 'Calls of models that wait for a place', () => models.waiting);
    return {
      database,
      box: createSecretBox(config.secretsKeys),
      eventLog,
      models: chains,
      readAgent: agentReader(database),
      chooseModel: modelChooser(chains, tenantOverrides(calls.identity, log)),
      metering: {
        meter: spendMeter({ unit: 'agent', ledger: calls.identity, log }),
        costs: callCosts(models.prices),
        metrics: chains.metrics,
      },
      admittedGenerations: new Map(),
      images: imageBudget(),
      generationLeaseMs: config.generationLeaseMs,
      generations: generationBudget(),
      identity: calls.identity,
      knowledge: calls.knowledge,
      passages: config.passages,
      action: calls.action,
      tools: config.tools,
      workflowRuns: config.workflowRuns,
      runAccess: runAccess(calls.identity, { keepMs: config.workflowRuns.accessKeptMs, log }),
      workflows: config.workflows,
      maxHiddenAgents: config.maxHiddenAgents,
      avatarModels: avatarModels({
        voice: unitHttp({ unit: 'voice', addresses, timeoutMs: config.voice.timeoutMs, maxBytes: 1_048_576 }),
        keyValue,
        keptMs: config.voice.modelsKeptMs,
        log,
      }),
      documentation: config.documentation,
      outbound: outboundPolicy(config.outbound),
      log,
    };
  },
  parts: ({ models, metering, database, box, workflowRuns }, { log, metrics }) => [
    { name: 'models', stop: () => models.close() },
    metering.meter,
    keptGenerationSweep({ database }, log),
    workflowRunSweep({ database, workflowRuns }, log),
    resealing({ database, box, columns: sealedColumns, log, metrics }),
  ],
  jobs: [textGenerationJob],
  onTenantEnd: {
    nothingBecause:
      'agents act for callers of their tenant only, and those are refused; kept answers go after two days, runs of workflows after their time',
  },
  rpc: {
    definition: AgentServiceDefinition,
    implementation: (ports) => agentRpc(ports),
    // Replies in progress get 12 of the 25 s that a shutdown may take, because a reply that the shutdown interrupts is lost.
    drainTimeoutMs: 12_000,
  },
  graph: subgraphOf({
    schema: new URL('schema.graphql', import.meta.url),
    resolvers,
    subscriptions: agentSubscriptions,
    context: contextFor,
  }),
});
