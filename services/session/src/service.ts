import { readFileSync } from 'node:fs';
import { subgraph } from '@parley/chassis/graph/subgraph';
import { createLogger } from '@parley/chassis/log';
import { createMetrics } from '@parley/chassis/metrics';
import { opsServer } from '@parley/chassis/ops';
import { rpcServer } from '@parley/chassis/rpc/server';
import type { Surroundings } from '@parley/chassis/surroundings';
import { type Unit, unit } from '@parley/chassis/unit';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import type { SessionConfig } from './config.ts';
import { createContext } from './graph/context.ts';
import { resolvers } from './graph/resolvers.ts';
import { tenantConsumer } from './on-tenant-deleted.ts';
import { sessionRpc } from './rpc.ts';
import { wireSession } from './wiring.ts';

const typeDefs = readFileSync(new URL('schema.graphql', import.meta.url), 'utf8');

/** Conversations: who says what to whom, in which order, and who is told. */
export function session(config: SessionConfig, around: Surroundings): Unit {
  const log = createLogger('session');
  const metrics = createMetrics('session');
  const { callers, host } = around;
  const { app, parts, database, tenantEnds } = wireSession(config, around, log, metrics);

  const self: Unit = unit('session', [
    opsServer({
      unit: 'session',
      host,
      port: config.opsPort,
      metrics,
      ready: () => self.ready(),
      onListening: (url) => around.addresses.announce('session', 'ops', url),
    }),
    ...parts,
    tenantConsumer({ bus: around.eventBus, database, tenantEnds, log, metrics }),
    rpcServer({
      unit: 'session',
      host,
      port: config.rpcPort,
      callers,
      log,
      metrics,
      services: (server) => server.add(SessionServiceDefinition, sessionRpc(app)),
      ...(around.development && { reflection: { image: readImage(), services: [SessionServiceDefinition.fullName] } }),
      onListening: (address) => around.addresses.announce('session', 'rpc', address),
    }),
    subgraph({
      unit: 'session',
      host,
      port: config.graphPort,
      typeDefs,
      resolvers,
      context: (caller, budget, gone) => createContext(app, caller, budget, gone),
      maxAnswerBytes: config.maxAnswerBytes,
      callers,
      log,
      metrics,
      onListening: (url) => around.addresses.announce('session', 'graph', url),
    }),
  ]);
  return self;
}

function readImage(): Uint8Array {
  return readFileSync(new URL(import.meta.resolve('@parley/protos/image.binpb')));
}
