import { readFileSync } from 'node:fs';
import { subgraph } from '@parley/chassis/graph/subgraph';
import { createLogger } from '@parley/chassis/log';
import { createMetrics } from '@parley/chassis/metrics';
import { opsServer } from '@parley/chassis/ops';
import { rpcClient } from '@parley/chassis/rpc/client';
import { rpcServer } from '@parley/chassis/rpc/server';
import { databasePart, type Surroundings } from '@parley/chassis/surroundings';
import { type Part, type Unit, unit } from '@parley/chassis/unit';
import { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { agentReader } from './agent-reader.ts';
import { agentSchema } from './agent-schema.ts';
import { createApp } from './app.ts';
import { builtInCatalogue } from './catalogue.ts';
import type { AgentConfig } from './config.ts';
import { contextFor } from './graph/context.ts';
import { resolvers } from './graph/resolvers.ts';
import { modelChooser } from './model-choice.ts';
import { createModels } from './models/models.ts';
import { agentRpc } from './rpc.ts';
import { tenantOverrides } from './tenant-overrides.ts';

/** A reply that is being made is lost when it is cut: it gets most of the 25 s that a stop may take. */
const drainTimeoutMs = 15_000;

/** Personas, and the models that speak for them. */
export function agent(config: AgentConfig, around: Surroundings): Unit {
  const { addresses, callers, host } = around;
  const log = createLogger('agent');
  const metrics = createMetrics('agent');
  const database = around.database(agentSchema);
  const identity = rpcClient({
    definition: IdentityServiceDefinition,
    unit: 'identity',
    address: () => addresses.of('identity', 'rpc'),
    callers,
  });
  const models = createModels(config.models, log);
  const modelsPart: Part = { name: 'models', start: async () => undefined, stop: () => models.close() };
  metrics.gauge('parley_agent_model_calls_waiting', 'Calls of models that wait for a place', () => models.waiting);
  const app = createApp({
    database,
    readAgent: agentReader(database),
    chooseModel: modelChooser(
      models,
      tenantOverrides(() => identity.calls, log),
    ),
    catalogue: builtInCatalogue,
    documentation: config.documentation,
  });

  const self: Unit = unit('agent', [
    opsServer({
      unit: 'agent',
      host,
      port: config.opsPort,
      metrics,
      ready: () => self.ready(),
      onListening: (url) => addresses.announce('agent', 'ops', url),
    }),
    databasePart(database, around),
    identity,
    modelsPart,
    rpcServer({
      unit: 'agent',
      host,
      port: config.rpcPort,
      callers,
      log,
      metrics,
      drainTimeoutMs,
      services: (server) => server.add(AgentServiceDefinition, agentRpc(app)),
      reflection: around.development
        ? {
            image: readFileSync(new URL(import.meta.resolve('@parley/protos/image.binpb'))),
            services: [AgentServiceDefinition.fullName],
          }
        : undefined,
      onListening: (address) => addresses.announce('agent', 'rpc', address),
    }),
    subgraph({
      unit: 'agent',
      host,
      port: config.graphPort,
      typeDefs: readFileSync(new URL('schema.graphql', import.meta.url), 'utf8'),
      resolvers,
      context: contextFor(app),
      maxAnswerBytes: config.maxAnswerBytes,
      callers,
      log,
      metrics,
      onListening: (url) => addresses.announce('agent', 'graph', url),
    }),
  ]);
  return self;
}
