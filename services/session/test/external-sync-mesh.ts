import { randomBytes, randomUUID } from 'node:crypto';
import { inProcessEventBus } from '@parley/events/in-process-event-bus';
import { type Callers, createCallers, type TenantCaller } from '@parley/kernel/caller';
import { notFound, unavailable } from '@parley/kernel/errors';
import { createAddresses } from '@parley/kernel/processes/addresses';
import { createLogger } from '@parley/kernel/telemetry/log';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import type { Database } from '@parley/postgres/database/types';
import { AgentServiceDefinition, GetExternalSyncResponse } from '@parley/protos/parley/agent/v1/agent';
import { Evaluation, EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import { EvaluationCompleted } from '@parley/protos/parley/evaluation/v1/events';
import { GetTenantResponse, IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { AdminServiceDefinition } from '@parley/protos/parley/session/v1/admin';
import { rpcClient } from '@parley/rpc/client';
import { eventually } from '@parley/testing/eventually';
import { requestOf } from '@parley/testing/request-of';
import { serveStub } from '@parley/testing/serve-stub';
import { startService } from '@parley/testing/service-harness';
import { replicaOf, testSchema } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import { listDeliveries } from '../src/external-sync/list-deliveries.ts';
import type { SyncDelivery } from '../src/external-sync/sync-delivery.ts';
import type { QueryExternalSyncDeliveriesArgs } from '../src/generated/schema.ts';
import type { Ports } from '../src/ports.ts';
import { session } from '../src/service.ts';
import { sessionSchema } from '../src/session-schema.ts';
import { sessionStore } from '../src/session-store.ts';
import { inTenant, oneAtATime, tokenKeys } from './session-mesh.ts';

export const agentId = 5;

/** A secret in the format of Standard Webhooks. */
export const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

export interface SyncReplica {
  ports: Ports;
  graph: Awaited<ReturnType<typeof startService>>['graph'];
  database: Database;
  stop(): Promise<void>;
  /** Makes this process handle the event `evaluation-completed` of a session. */
  completed(sessionId: number, rest?: { tenantId?: number; id?: string; agentId?: number }): Promise<void>;
}

/** Starts the session unit, and stubs of the services that are called by the external sync. */
export function externalSyncMesh(
  t: ExecutionContext,
  { env = {}, clockOffsetMs }: { env?: Record<string, string>; clockOffsetMs?: () => number } = {},
) {
  return oneAtATime(() => startMesh(t, env, clockOffsetMs ? { clockOffsetMs } : {}));
}

interface NewSession {
  tenantId?: number;
  /** The id of the session's agent. */
  of?: number;
  metadata?: unknown;
}

async function startMesh(t: ExecutionContext, env: Record<string, string>, offset: { clockOffsetMs?: () => number }) {
  const database = await testSchema(t, sessionSchema, offset);
  const callers = createCallers(randomBytes(32));
  const operatorKey = randomBytes(32);
  const addresses = createAddresses({ EXPORT_RPC_URL: '127.0.0.1:1' });
  const keyValue = memoryKeyValue();
  const stubs = {
    /** Sync targets by agent id. */
    targets: new Map<number, Partial<GetExternalSyncResponse>>(),
    /** Tenant secrets by name. */
    secrets: new Map<string, string>([['HOOK', secret]]),
    tenants: new Map<number, Partial<GetTenantResponse>>(),
    evaluationIsDown: false,
  };
  const at = new Date('2026-01-02T03:04:05.678Z');
  const on = { callers, addresses };
  await serveStub(
    t,
    AgentServiceDefinition,
    {
      getExternalSync: async (request) =>
        GetExternalSyncResponse.fromPartial({ secretRef: 'HOOK', ...stubs.targets.get(request.agentId) }),
    },
    on,
  );
  await serveStub(
    t,
    IdentityServiceDefinition,
    {
      getTenant: async ({ tenantId }) =>
        GetTenantResponse.fromPartial({ tenantId, plan: 'DEV', ...stubs.tenants.get(tenantId) }),
      async getTenantSecret({ name }) {
        const value = stubs.secrets.get(name);
        if (value === undefined) throw notFound('Secret', name);
        return { value };
      },
    },
    on,
  );
  await serveStub(
    t,
    EvaluationServiceDefinition,
    {
      async getEvaluation({ sessionId }) {
        if (stubs.evaluationIsDown) throw unavailable('evaluation is down');
        const evaluation = Evaluation.fromPartial({
          id: 70 + sessionId,
          sessionId,
          score: 87,
          summary: 'Knew how indexes work.',
          strengths: ['Concrete examples'],
          weaknesses: ['Short on transactions'],
          recommendation: 'HIRE',
          generatedAt: at,
          createdAt: at,
          updatedAt: at,
        });
        return { evaluation };
      },
    },
    on,
  );

  async function replica(): Promise<SyncReplica> {
    const own = await replicaOf(t, database, sessionSchema, offset);
    const eventBus = inProcessEventBus({
      deadLetters: { append: () => Promise.reject(new Error('none is expected')) },
    });
    const { unit, graph } = await startService(t, session, {
      env: {
        SESSION_STOP_GRACE_MS: '100',
        SESSION_LEASE_MS: '2000',
        SESSION_SYNC_FIRST_RETRY_MS: '100',
        SESSION_SYNC_TIMEOUT_MS: '5000',
        AVATAR_TOKEN_KEYS: tokenKeys,
        OPERATOR_KEY: operatorKey.toString('base64'),
        OUTBOUND_ALLOWLIST: '127.0.0.1',
        OUTBOUND_PORTS: '1-65535',
        ...env,
      },
      database: own,
      dependencies: { keyValue, eventBus, addresses, callers },
      log: createLogger('session', { LOG_LEVEL: 'silent' }),
    });
    let stopped: Promise<void> | undefined;
    return {
      ports: unit.deps,
      graph,
      database: own,
      stop() {
        stopped ??= unit.stop().catch(() => undefined);
        return stopped;
      },
      completed: (sessionId, { tenantId = 1, id = randomUUID(), agentId: of = agentId } = {}) =>
        eventBus.publish([
          {
            id,
            topic: 'evaluation-completed',
            type: 'evaluation.completed.v1',
            source: 'evaluation',
            key: String(sessionId),
            tenantId,
            time: new Date(),
            data: EvaluationCompleted.encode({ sessionId, agentId: of }).finish(),
          },
        ]),
    };
  }

  const first = await replica();

  async function newSession({ tenantId = 1, of = agentId, metadata = { orderId: 'o-7' } }: NewSession = {}) {
    const made = await database.transact(tenantId, async (db) => {
      const row = await sessionStore(db).insert({ agentId: of, clientExternalId: 'customer 12', metadata });
      return row && sessionStore(db).end(row.id, 'ENDED');
    });
    if (!made) throw new Error('No session was made');
    return made;
  }

  function deliveries(args: Partial<QueryExternalSyncDeliveriesArgs> = {}, caller: TenantCaller = inTenant(1)) {
    const ports = { ...first.ports, database: wholeRowsDatabase(database) };
    return listDeliveries(ports, requestOf(caller), { agentId, ...args });
  }

  return {
    ...first,
    ...stubs,
    stubs,
    database,
    operatorKey,
    replica,
    newSession,
    deliveries,
    /** Ends a session, and makes the first process handle the session's `evaluation-completed`. @returns the session's id */
    async evaluated(options: NewSession = {}): Promise<number> {
      const { id, agentId: of, tenantId } = await newSession(options);
      await first.completed(id, { tenantId, agentId: of });
      return id;
    },
    /** Waits until the delivery of a session satisfies `wanted`, and returns it. */
    delivery: (sessionId: number, wanted: (delivery: SyncDelivery) => boolean, tenantId = 1): Promise<SyncDelivery> =>
      eventually(
        `the delivery of session ${sessionId} is as wanted`,
        async () => {
          const all = await deliveries({ first: 100 }, inTenant(tenantId));
          return all.find((each) => each.sessionId === sessionId && wanted(each));
        },
        { timeoutMs: 30_000 },
      ),
    async jobs(): Promise<number> {
      const counted = await database.transactShared(({ knex }) =>
        knex.raw(`SELECT count(*)::int AS jobs FROM jobs WHERE kind = 'session.external-sync'`),
      );
      return counted.rows[0].jobs;
    },
    /** Creates a client of the RPCs that `scripts/admin` calls. */
    async admin(signedBy: Callers = createCallers(operatorKey)) {
      const client = rpcClient({
        definition: AdminServiceDefinition,
        unit: 'session',
        address: () => addresses.of('session', 'rpc'),
        callers: signedBy,
      });
      await client.start();
      t.teardown(() => client.stop());
      return client.calls;
    },
  };
}

export const isOver = ({ status }: SyncDelivery) => status !== 'PENDING';
export const hasFailed = ({ lastError, status }: SyncDelivery) => lastError !== null && status === 'PENDING';
