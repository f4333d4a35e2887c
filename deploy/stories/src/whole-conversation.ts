import type { Database, TenantDb } from '@parley/chassis/database/types';
import { testSchema } from '@parley/chassis/testing/test-schema';
import { schemas } from '@parley/local/schemas';
import type { TestFn } from 'ava';
import type { Facts } from './invariants/facts.ts';
import { readRows } from './invariants/read-rows.ts';

export type Databases = (name: string) => Database;

/** The schemas of all services, for all tests of a file: each has a tenant of its own. */
export function sharedSchemas(test: TestFn): () => Promise<Databases> {
  let opened: Promise<Databases> | undefined;
  const teardowns: (() => unknown)[] = [];
  test.after.always('the schemas go', async () => {
    for (let end = teardowns.pop(); end; end = teardowns.pop()) await end();
  });
  return () => {
    opened ??= (async () => {
      const all = new Map<string, Database>();
      const withTheFile = { teardown: (end: () => unknown) => void teardowns.push(end) };
      for (const schema of schemas) all.set(schema.name, await testSchema(withTheFile, schema));
      return (name) => all.get(name) as Database;
    })();
    return opened;
  };
}

/** A conversation as it should be, in the rows of all services, with what others tell of it. */
export interface WholeConversation {
  database: Databases;
  tenantId: number;
  agentId: number;
  /** Has ended, after a question that was answered and one that failed, and is judged. */
  sessionId: number;
  in(service: string, work: (db: TenantDb) => PromiseLike<unknown>): Promise<unknown>;
  facts(): Promise<Facts>;
}

/** Writes one, of a tenant of its own. */
export async function wholeConversation(database: Databases): Promise<WholeConversation> {
  const tenantId = await database('identity').transactShared(async ({ knex }) => {
    const referral_code = Math.random().toString(36);
    const [user] = await knex('users').insert({ fullname: 'Ada', referral_code }).returning('id');
    const [tenant] = await knex('tenants').insert({ name: 'A', plan: 'DEV', created_by: user.id }).returning('id');
    return tenant.id as number;
  });
  const tenant_id = tenantId;
  const agentId = await newAgent(database, tenantId);
  const sessionId: number = await database('session').transact(tenantId, async ({ knex }) => {
    const [{ id }] = await knex('sessions')
      .insert({ tenant_id, agent_id: agentId, status: 'ENDED', client_external_id: 'c', ended_at: knex.fn.now() })
      .returning('id');
    const message = (role: string, turn_index: number, exchange_index: number) => ({
      tenant_id,
      session_id: id,
      role,
      text: `${role} ${exchange_index} of ${id}.`,
      turn_index,
      exchange_index,
      token_estimate: 1,
    });
    await knex('messages').insert([message('USER', 0, 0), message('USER', 1, 1), message('MODEL', 2, 0)]);
    await knex('turns').insert([
      { tenant_id, session_id: id, turn_index: 0, state: 'DONE', attempt: 1 },
      { tenant_id, session_id: id, turn_index: 1, state: 'FAILED', attempt: 1, failure_code: 'MODEL_FAILED' },
    ]);
    return id;
  });
  await database('evaluation').transact(tenantId, ({ knex }) =>
    knex('evaluations').insert(evaluationOf(tenantId, sessionId)),
  );
  await database('evaluation').transactShared(({ knex }) =>
    knex('inbox').insert({ consumer: 'evaluation', event_id: `event ${sessionId}`, tenant_id }),
  );
  return {
    database,
    tenantId,
    agentId,
    sessionId,
    in: (service, work) => database(service).transact(tenantId, async (db) => void (await work(db))),
    facts: async () => ({
      ...(await readRows(database, [tenantId])),
      topics: {
        events: [endOf(tenantId, sessionId), endOf(tenantId, sessionId)],
        groups: [{ group: 'evaluation', topic: 'session-ended', lag: 0 }],
        letters: [],
        poison: [],
      },
      told: {
        messages: [{ sessionId, text: `USER 0 of ${sessionId}.`, outcome: 'acknowledged', code: undefined }],
        endedSessions: [sessionId],
      },
      asked: {
        replies: [`USER 0 of ${sessionId}.`, `USER 1 of ${sessionId}.`],
        judgements: [JSON.stringify(`USER 0 of ${sessionId}. USER 1 of ${sessionId}.`)],
        repeats: 0,
      },
    }),
  };
}

async function newAgent(database: Databases, tenant_id: number): Promise<number> {
  const [{ id }] = await database('agent').transact(tenant_id, ({ knex }) =>
    knex('agents')
      .insert({
        tenant_id,
        name: 'Maya',
        persona_prompt: 'p',
        position: 'p',
        use_case: 'SALES',
        status: 'ACTIVE',
        voice_tier: 'STANDARD',
        vad_threshold: 0.5,
        avatar_backend: 'CLIENT_3D',
      })
      .returning('id'),
  );
  return id;
}

export const evaluationOf = (tenant_id: number, session_id: number) => ({
  tenant_id,
  session_id,
  score: 1,
  summary: '',
  strengths: '[]',
  weaknesses: '[]',
  recommendation: '',
  transcript: '[]',
  judged_by: 'test-model',
});

export const endOf = (tenantId: number, sessionId: number) => ({
  topic: 'session-ended',
  id: `event ${sessionId}`,
  key: String(sessionId),
  type: 'session.ended.v1',
  tenantId,
});

/** A job of evaluation's that should have been done; one with a lease has lost that. */
export function insertJob(database: Databases, tenant_id: number, sessionId: number, row: object) {
  const isRunning = 'lease_token' in row;
  return database('evaluation').transactShared(({ knex }) =>
    knex('jobs').insert({
      kind: 'evaluation.judge',
      key: String(sessionId),
      tenant_id,
      payload: { sessionId },
      run_at: knex.raw(`parley_now() - interval '60 s'`),
      created_at: knex.fn.now(),
      ...(isRunning && { lease_until: knex.raw(`parley_now() - interval '30 s'`) }),
      ...row,
    }),
  );
}
