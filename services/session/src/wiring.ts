import type { Database } from '@parley/chassis/database/types';
import { outboxRelay } from '@parley/chassis/events/relay';
import type { JobClaimer } from '@parley/chassis/jobs/job-claimer';
import { jobRunner } from '@parley/chassis/jobs/job-runner';
import type { Logger } from '@parley/chassis/log';
import type { Metrics } from '@parley/chassis/metrics';
import { rpcClient } from '@parley/chassis/rpc/client';
import { databasePart, type Surroundings } from '@parley/chassis/surroundings';
import type { Part } from '@parley/chassis/unit';
import { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import { EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import { announceEnd } from './announce-end.ts';
import { type App, createApp } from './app.ts';
import { expiryKind } from './conclude-session.ts';
import type { SessionConfig } from './config.ts';
import { endTenant, endTenantKind } from './end-tenant.ts';
import { type ExpiryJob, expireSession } from './expire-session.ts';
import { giveUpTurn, shownOfTurn } from './finish-turn.ts';
import type { Ports, TurnPorts } from './ports.ts';
import { prepareTurn, runTurn } from './run-turn.ts';
import { sessionSchema } from './session-schema.ts';
import { type Prepared, type TurnJob, turnKind } from './turn-job.ts';
import { countWaitingTurns } from './waiting-turns.ts';

/** What session finds around it, its doors apart. */
export type Engines = Omit<Surroundings, 'host' | 'development'>;

export interface Wired {
  app: App;
  parts: Part[];
  database: Database;
  /** Ends the sessions of deleted tenants. */
  tenantEnds: JobClaimer;
}

/** The use cases, and the parts that have to run for them: started in this order, stopped in the other. */
export function wireSession(config: SessionConfig, around: Engines, log: Logger, metrics: Metrics): Wired {
  const { eventLog, callers, addresses, soleOwner } = around;
  const database = around.database(sessionSchema);
  const agent = rpcClient({
    definition: AgentServiceDefinition,
    unit: 'agent',
    address: () => addresses.of('agent', 'rpc'),
    callers,
  });
  const evaluation = rpcClient({
    definition: EvaluationServiceDefinition,
    unit: 'evaluation',
    address: () => addresses.of('evaluation', 'rpc'),
    callers,
  });
  const firstChunk = metrics.durations(
    'parley_session_first_chunk_seconds',
    'From the start of a turn to the first piece of its reply',
  );

  const common = {
    database,
    eventLog,
    settings: config.settings,
    log,
    announceEnd: announceEnd(around.keyValue, log),
    observeFirstChunk: (seconds: number) => firstChunk.observe(seconds),
  };
  const turnPorts: TurnPorts = {
    ...common,
    get agent() {
      return agent.calls;
    },
  };
  const turns = jobRunner<TurnJob, Prepared, string>({
    database,
    kind: turnKind,
    concurrency: config.turnsAtOnce,
    perTenantLimit: config.turnsPerTenant,
    leaseMs: config.settings.leaseMs,
    stopGraceMs: config.stopGraceMs,
    soleOwner,
    notifier: around.keyValue,
    log,
    prepare: (db, job) => prepareTurn(turnPorts, db, job),
    handler: (run) => runTurn(turnPorts, run),
    askExhausted: (job) => shownOfTurn(turnPorts, job),
    onExhausted: (db, job, error, shown) => giveUpTurn(turnPorts, db, job, { error, shown }),
  });
  const ports: Ports = {
    ...common,
    get agent() {
      return agent.calls;
    },
    get evaluation() {
      return evaluation.calls;
    },
    turns,
  };
  const expiry = jobRunner<ExpiryJob>({
    database,
    kind: expiryKind,
    concurrency: 8,
    perTenantLimit: {
      unlimitedBecause: 'each is a short transaction, nobody waits for it, and it comes a day after the last event',
    },
    // Whatever was in the way may be gone tomorrow; an idle session must not live for ever for it.
    maxAttempts: 1_000_000,
    stopGraceMs: config.stopGraceMs,
    soleOwner,
    log,
    handler: (run) => expireSession(ports, run),
  });

  const tenantEnds = jobRunner({
    database,
    kind: endTenantKind,
    concurrency: 2,
    perTenantLimit: {
      // A tenant has one such job, which takes long where it has many sessions; the jobs of other deleted tenants wait meanwhile.
      unlimitedBecause: 'nobody waits for it: all credentials of a deleted tenant are refused before its sessions end',
    },
    // Whatever is in the way, nothing may go on for a tenant that is gone.
    maxAttempts: 1_000_000,
    leaseMs: config.settings.leaseMs,
    stopGraceMs: config.stopGraceMs,
    soleOwner,
    log,
    handler: (run) => endTenant(ports, run),
  });

  metrics.gauge('parley_session_turns_running', 'Turns that this process runs', () => turns.running);
  metrics.gauge('parley_session_turns_waiting', 'Turns that wait, of all sessions', () =>
    // A scrape must not fail with the database: the readiness says that.
    countWaitingTurns(database).catch(() => Number.NaN),
  );
  const relay = outboxRelay({ database, bus: around.eventBus, soleOwner, log, metrics });
  return {
    app: createApp(ports),
    parts: [databasePart(database, around), agent, evaluation, relay, turns, expiry, tenantEnds],
    database,
    tenantEnds,
  };
}
