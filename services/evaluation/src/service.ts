import { readFileSync } from 'node:fs';
import { eventConsumer } from '@parley/chassis/events/consumer';
import { jobRunner } from '@parley/chassis/jobs/job-runner';
import type { JobRunner } from '@parley/chassis/jobs/runner-types';
import { createLogger } from '@parley/chassis/log';
import { createMetrics } from '@parley/chassis/metrics';
import { opsServer } from '@parley/chassis/ops';
import { rpcClient } from '@parley/chassis/rpc/client';
import { rpcServer } from '@parley/chassis/rpc/server';
import { databasePart, type Surroundings } from '@parley/chassis/surroundings';
import { type Unit, unit } from '@parley/chassis/unit';
import { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { SessionEnded } from '@parley/protos/parley/session/v1/events';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import type { EvaluationConfig } from './config.ts';
import { evaluationSchema } from './evaluation-schema.ts';
import { type JudgeSession, judgeKind, judgeSession } from './judge-session.ts';
import { onSessionEnded } from './on-session-ended.ts';
import type { Ports } from './ports.ts';
import { evaluationRpc } from './rpc.ts';
import { templateRenderer } from './template-renderer.ts';
import { tenantWatch } from './tenant-watch.ts';

/** Scores a session when it has ended. */
export function evaluation(config: EvaluationConfig, around: Surroundings): Unit {
  const { addresses, callers, host } = around;
  const log = createLogger('evaluation');
  const metrics = createMetrics('evaluation');
  const database = around.database(evaluationSchema);
  const agent = rpcClient({
    definition: AgentServiceDefinition,
    unit: 'agent',
    address: () => addresses.of('agent', 'rpc'),
    callers,
  });
  const session = rpcClient({
    definition: SessionServiceDefinition,
    unit: 'session',
    address: () => addresses.of('session', 'rpc'),
    callers,
  });
  const identity = rpcClient({
    definition: IdentityServiceDefinition,
    unit: 'identity',
    address: () => addresses.of('identity', 'rpc'),
    callers,
  });
  const templates = templateRenderer();
  const ports: Ports = {
    database,
    agent: () => agent.calls,
    session: () => session.calls,
    identity: () => identity.calls,
    templates,
    judgeTimeoutMs: config.judgeTimeoutMs,
    log,
  };
  const judge: JobRunner = jobRunner<JudgeSession>({
    database,
    kind: judgeKind,
    concurrency: config.concurrency,
    perTenantLimit: config.perTenant,
    leaseMs: config.leaseMs,
    // Session or agent being away is no fault of the session's: it stays due until they are back.
    maxAttempts: 1_000_000,
    // Nobody follows a judgement: whoever starts next makes it anew, so a stop need not wait for a slow model.
    stopGraceMs: 1_000,
    soleOwner: around.soleOwner,
    handler: (job) => judgeSession(ports, job),
    log,
  });
  metrics.gauge('parley_judgements_running', 'Judgements under way', () => judge.running);

  const self: Unit = unit('evaluation', [
    opsServer({
      unit: 'evaluation',
      host,
      port: config.opsPort,
      metrics,
      ready: () => self.ready(),
      onListening: (url) => addresses.announce('evaluation', 'ops', url),
    }),
    databasePart(database, around),
    agent,
    session,
    identity,
    templates,
    rpcServer({
      unit: 'evaluation',
      host,
      port: config.rpcPort,
      callers,
      log,
      metrics,
      services: (server) => server.add(EvaluationServiceDefinition, evaluationRpc(ports)),
      reflection: around.development
        ? {
            image: readFileSync(new URL(import.meta.resolve('@parley/protos/image.binpb'))),
            services: [EvaluationServiceDefinition.fullName],
          }
        : undefined,
      onListening: (address) => addresses.announce('evaluation', 'rpc', address),
    }),
    judge,
    tenantWatch(ports, around.keyValue),
    eventConsumer({
      bus: around.eventBus,
      group: 'evaluation',
      database,
      handlers: {
        'session.ended.v1': {
          topic: 'session-ended',
          decode: SessionEnded.decode,
          handle: onSessionEnded(ports, judge),
        },
      },
      log,
      metrics,
    }),
  ]);
  return self;
}
