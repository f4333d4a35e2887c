import { randomBytes, randomUUID } from 'node:crypto';
import { inProcessEventBus } from '@parley/events/in-process-event-bus';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { type DomainError, notFound } from '@parley/kernel/errors';
import { createAddresses } from '@parley/kernel/processes/addresses';
import type { ObjectStore } from '@parley/objects/object-store';
import { Agent, AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import { Evaluation, EvaluationServiceDefinition } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { Export, ExportServiceDefinition } from '@parley/protos/parley/export/v1/export';
import { TenantDeleted } from '@parley/protos/parley/identity/v1/events';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import type { RpcClient } from '@parley/rpc/client';
import { eventually } from '@parley/testing/eventually';
import type { Gate } from '@parley/testing/gate';
import { storageOf } from '@parley/testing/object-stores';
import { serveStub } from '@parley/testing/serve-stub';
import { startService } from '@parley/testing/service-harness';
import { replicaOf, testSchema } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import { exportSchema } from '../src/export-schema.ts';
import { studyKitExport } from '../src/service.ts';
import type { TranscriptMessage } from '../src/study-kit.ts';
import { conversation } from './samples.ts';

/** A session, as the stubs of the session and evaluation services return it. */
export interface StubSession {
  tenantId: number;
  status: 'ACTIVE' | 'ENDED' | 'EXPIRED';
  messages: TranscriptMessage[];
  evaluation: Evaluation | undefined;
}

export const evaluationOfTest = Evaluation.fromPartial({
  id: 1,
  sessionId: 1,
  score: 87,
  summary: 'Knows what a variable is.',
  strengths: ['Explains with examples'],
  weaknesses: ['Skips the check of the result'],
  recommendation: 'ON_TRACK',
});

const ended = ['READY', 'FAILED', 'FALLBACK_READY'];

/**
 * Starts the export service with an object store in files, and with stubs of the services session, agent and evaluation over gRPC. Session
 * 1 of tenant 1 has ended.
 */
export async function exportMesh(t: ExecutionContext, env: Record<string, string> = {}) {
  let clockOffsetMs = 0;
  const clock = { clockOffsetMs: () => clockOffsetMs };
  const database = await testSchema(t, exportSchema, clock);
  const storage = await storageOf(t);
  const { store } = storage;
  const addresses = createAddresses({});
  const callers = createCallers(randomBytes(32));
  const sessions = new Map<number, StubSession>([
    [1, { tenantId: 1, status: 'ENDED', messages: conversation(10), evaluation: evaluationOfTest }],
  ]);
  const script: {
    /** The error that the stub of the session service throws in place of its answer. */
    failure?: DomainError;
    /** Delays transcripts until the gate opens. */
    gate?: Gate;
    /** Delays all messages of transcripts after the first 1,000, until the gate opens. */
    restGate?: Gate;
    transcriptsRead: number;
    statesRead: number;
  } = { transcriptsRead: 0, statesRead: 0 };

  function own(id: number, tenantId: number | null): StubSession {
    const session = sessions.get(id);
    if (!session || session.tenantId !== tenantId) throw notFound('Session', id);
    return session;
  }

  const on = { callers, addresses };
  await serveStub(
    t,
    SessionServiceDefinition,
    {
      async resolveSessions({ sessionIds }, { caller }) {
        script.statesRead += 1;
        if (script.failure) throw script.failure;
        return {
          sessions: sessionIds.map((sessionId) => ({ sessionId, status: own(sessionId, caller.tenantId).status })),
        };
      },
      async *streamTranscript({ sessionId }, { caller }) {
        script.transcriptsRead += 1;
        const { messages } = own(sessionId, caller.tenantId);
        await script.gate?.pass();
        for (let at = 0; at < messages.length; at += 1_000) {
          if (at > 0) await script.restGate?.pass();
          yield { lines: messages.slice(at, at + 1_000) };
        }
      },
    },
    on,
  );
  await serveStub(
    t,
    AgentServiceDefinition,
    {
      async getAgent({ agentId }) {
        return { agent: Agent.fromPartial({ id: agentId, name: 'Ada', position: 'Tutor', subject: 'Algebra' }) };
      },
    },
    on,
  );
  await serveStub(
    t,
    EvaluationServiceDefinition,
    {
      getEvaluation: async ({ sessionId }, { caller }) => ({ evaluation: own(sessionId, caller.tenantId).evaluation }),
    },
    on,
  );

  /** The client of the newest replica. */
  let rpc: RpcClient<ExportServiceDefinition>;

  /** Starts a process of the export service. `objectStore` replaces the mesh's object store. */
  async function replica(objectStore: ObjectStore = store) {
    const own = await replicaOf(t, database, exportSchema, clock);
    const eventBus = inProcessEventBus({
      deadLetters: { append: () => Promise.reject(new Error('none is expected')) },
    });
    const dependencies = { addresses, callers, eventBus, objectStore };
    const started = await startService(t, studyKitExport, { env, database: own, dependencies });
    ({ rpc } = started);
    return {
      unit: started.unit,
      eventBus,
      /** Closes the replica's database, as if its process had died. */
      kill: () => own.close(),
    };
  }

  const service = (tenantId: number): Caller => ({ kind: 'service', service: 'session', tenantId, requestId: 'test' });

  async function get(id: number, caller: Caller = service(1)): Promise<Export> {
    const { export: found } = await rpc.getExport({ id }, { caller, expectedErrors: ['notFound'] });
    if (!found) throw new Error('an answer without an export');
    return found;
  }

  return {
    ...storage,
    database,
    sessions,
    script,
    replica,
    get,
    /** Requests an export as the session service does. */
    async request(
      sessionId = 1,
      { caller = service(1), requestKey }: { caller?: Caller; requestKey?: string } = {},
    ): Promise<Export> {
      const { export: made } = await rpc.requestExport(
        { sessionId, agentId: 5, requestKey: requestKey ?? randomUUID() },
        { caller, expectedErrors: ['forbidden', 'tooManyRequests'] },
      );
      if (!made) throw new Error('an answer without an export');
      return made;
    },
    /** Resolves to the export once it has ended. */
    ended: (id: number, caller?: Caller): Promise<Export> =>
      eventually(
        `export ${id} has ended`,
        async () => {
          const found = await get(id, caller);
          return ended.includes(found.status) && found;
        },
        { timeoutMs: 60_000 },
      ),
    /** Downloads the file that a link refers to. */
    async download(url: string | undefined): Promise<Buffer> {
      const response = await fetch(url ?? '');
      t.is(response.status, 200);
      return Buffer.from(await response.arrayBuffer());
    },
    async files(tenantId = 1): Promise<string[]> {
      return (await store.list({ prefix: `tenants/${tenantId}/` })).objects.map(({ key }) => key);
    },
    async jobs(kind = 'export.render'): Promise<{ state: string; attempt: number }[]> {
      return database.transactShared(({ knex }) => knex('jobs').where({ kind }).select('state', 'attempt'));
    },
    /** Returns the payload of the render job that has waited longest. */
    async renderData(): Promise<Record<string, unknown> | undefined> {
      const [row] = await database.transactShared(({ knex }) =>
        knex('jobs').where({ kind: 'export.render', state: 'queued' }).orderBy('id').select('payload'),
      );
      return row?.payload as Record<string, unknown> | undefined;
    },
    /** Returns how many documents the newest replica has rendered or tried to render. */
    async rendered(): Promise<number> {
      const text = await (await fetch(`${addresses.of('export', 'ops')}/metrics`)).text();
      return Number(/^parley_export_render_seconds_count\S* (\d+)$/mu.exec(text)?.[1] ?? 0);
    },
    async count(tenantId = 1): Promise<number> {
      return database.transact(tenantId, async ({ knex }) => (await knex('export_records')).length);
    },
    moveClock(ms: number): void {
      clockOffsetMs += ms;
    },
    tenantDeleted: (tenantId: number) => ({
      id: randomUUID(),
      topic: 'tenant-deleted',
      type: 'tenant.deleted.v1',
      source: 'identity',
      key: String(tenantId),
      tenantId,
      time: new Date(),
      data: TenantDeleted.encode({ tenantId, deletedAt: new Date() }).finish(),
    }),
  };
}
