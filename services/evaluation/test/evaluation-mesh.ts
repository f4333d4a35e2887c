import { randomBytes, randomUUID } from 'node:crypto';
import type { Envelope } from '@parley/events/envelope';
import { inProcessEventBus } from '@parley/events/in-process-event-bus';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { createAddresses } from '@parley/kernel/processes/addresses';
import { createLogger } from '@parley/kernel/telemetry/log';
import { announcer } from '@parley/live/key-value/announcements';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import type { Database } from '@parley/postgres/database/types';
import { credentialsChanged } from '@parley/protos/announcements';
import { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import type { Evaluation, EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { SessionEnded } from '@parley/protos/parley/session/v1/events';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import type { RpcClient } from '@parley/rpc/client';
import { eventually } from '@parley/testing/eventually';
import { type ServedStub, serveStub } from '@parley/testing/serve-stub';
import { startService } from '@parley/testing/service-harness';
import { replicaOf, testSchema } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import { evaluationSchema } from '../src/evaluation-schema.ts';
import { evaluation } from '../src/service.ts';
import { type StubServices, stubServices } from './stub-services.ts';

type StubName = 'agent' | 'session' | 'identity';

/** One process of the evaluation service, with its own event bus. */
export interface Replica {
  /** Resolves when the events are handled. */
  deliver(...events: Envelope[]): Promise<void>;
  /** Closes the replica's database, as if its process had died. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface EvaluationMesh extends Replica, StubServices {
  database: Database;
  /** Published `evaluation-completed` events, of all replicas. */
  published: Envelope[];
  /** The stubs' current answers. */
  script: StubServices;
  /** Announces a change of the tenant, as the identity service does. */
  announceTenantChange(tenantId: number): Promise<void>;
  replica(): Promise<Replica>;
  /** Stops a stub. Returns a function that starts it again on the same address. */
  stopService(name: StubName): Promise<() => Promise<void>>;
  /** By gRPC. */
  find(sessionId?: number, tenantId?: number, maxTranscriptBytes?: bigint): Promise<Evaluation | undefined>;
  evaluationOf(sessionId?: number): Promise<Evaluation>;
  counts(): Promise<{ evaluations: number; jobs: number }>;
}

/**
 * Starts the evaluation service on its own schema, with stubs of other services over gRPC. The service runs the migrations unless
 * `migrated` is set.
 */
export async function evaluationMesh(
  t: ExecutionContext,
  env: Record<string, string> = {},
  { migrated = true } = {},
): Promise<EvaluationMesh> {
  const database = await testSchema(t, evaluationSchema, { migrate: migrated });
  const callers = createCallers(randomBytes(32));
  const addresses = createAddresses({});
  const script = stubServices();
  const keyValue = memoryKeyValue();
  const published: Envelope[] = [];
  const on = { callers, addresses };
  const stubs: Record<StubName, ServedStub> = {
    agent: await serveStub(t, AgentServiceDefinition, script.agentRpc, on),
    session: await serveStub(t, SessionServiceDefinition, script.sessionRpc, on),
    identity: await serveStub(t, IdentityServiceDefinition, script.identityRpc, on),
  };

  /** The client of the newest replica. */
  let rpc: RpcClient<EvaluationServiceDefinition>;

  async function replica(): Promise<Replica> {
    const own = await replicaOf(t, database, evaluationSchema);
    const eventBus = inProcessEventBus({
      deadLetters: { append: () => Promise.reject(new Error('none is expected')) },
    });
    await eventBus.subscribe({
      group: 'test',
      topics: ['evaluation-completed'],
      handler: async (event) => void published.push(event),
    });
    const given = { keyValue, eventBus, addresses, callers };
    const started = await startService(t, evaluation, { env, migrated, database: own, dependencies: given });
    const { unit } = started;
    ({ rpc } = started);
    let stopped: Promise<void> | undefined;
    const stop = () => {
      stopped ??= unit.stop().catch(() => undefined);
      return stopped;
    };
    t.teardown(stop);
    return { deliver: (...events) => eventBus.publish(events), kill: () => own.close(), stop };
  }

  const first = await replica();
  async function find(sessionId = 1, tenantId = 1, maxTranscriptBytes?: bigint): Promise<Evaluation | undefined> {
    const caller: Caller = { kind: 'service', service: 'session', tenantId, requestId: 'test' };
    return (await rpc.getEvaluation({ sessionId, maxTranscriptBytes }, { caller })).evaluation;
  }

  return {
    ...first,
    ...script,
    script,
    announceTenantChange: (tenantId) =>
      announcer(keyValue, credentialsChanged, createLogger('test'))({ whose: { $case: 'tenantId', value: tenantId } }),
    database,
    published,
    replica,
    find,
    evaluationOf: (sessionId) => eventually('the evaluation is there', () => find(sessionId), { timeoutMs: 30_000 }),
    async stopService(name) {
      await stubs[name].stop();
      return stubs[name].restart;
    },
    async counts() {
      const [{ evaluations = 0 } = {}] = (
        await database.transact(1, ({ knex }) => knex.raw('select count(*)::int as evaluations from evaluations'))
      ).rows;
      const [{ jobs = 0 } = {}] = (
        await database.transactShared(({ knex }) => knex.raw('select count(*)::int as jobs from jobs'))
      ).rows;
      return { evaluations, jobs };
    },
  };
}

export function sessionEnded(sessionId = 1, rest: Partial<Envelope & { agentId: number }> = {}): Envelope {
  const { agentId = 5, ...envelope } = rest;
  return {
    id: randomUUID(),
    topic: 'session-ended',
    type: 'session.ended.v1',
    source: 'session',
    key: String(sessionId),
    tenantId: 1,
    time: new Date(),
    data: SessionEnded.encode({ sessionId, agentId, status: 'ENDED', endedAt: new Date() }).finish(),
    ...envelope,
  };
}
