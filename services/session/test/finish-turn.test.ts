import { createLogger } from '@parley/kernel/telemetry/log';
import type { Database, TenantDb } from '@parley/postgres/database/types';
import { jobRunner } from '@parley/postgres/jobs/job-runner';
import { jobs } from '@parley/postgres/jobs/jobs';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import { testSchema } from '@parley/testing/test-schema';
import test, { type ExecutionContext } from 'ava';
import { finishTurn } from '../src/finish-turn.ts';
import type { Ports } from '../src/ports.ts';
import type { SessionLog } from '../src/session-log.ts';
import { sessionSchema } from '../src/session-schema.ts';
import { type Prepared, type TurnJob, turnKind } from '../src/turn-job.ts';
import { turnStore } from '../src/turn-store.ts';
import { oneAtATime } from './session-mesh.ts';

const reply = {
  text: 'Re',
  tokensIn: 1,
  tokensOut: 2,
  costUsdE8: 3n,
  modelId: 'script',
  finishReason: 'STOP' as const,
  tokensEstimated: false,
  contextTokens: 4,
  citations: null,
  toolCalls: [],
  structuredContent: null,
  interrupted: false,
};

/** Inserts a session with a running turn; its newest event has the id 5-5. */
async function insertTurn(database: Database) {
  return database.transact(1, async ({ knex }) => {
    const { rows } = await knex.raw(
      `WITH session AS (
         INSERT INTO sessions (tenant_id, agent_id, status, client_external_id, next_turn_index, last_event_ms, last_event_n)
         VALUES (1, 1, 'ACTIVE', 'x', 1, 5, 5) RETURNING id
       )
       INSERT INTO turns (tenant_id, session_id, turn_index, state) SELECT 1, id, 0, 'RUNNING' FROM session
       RETURNING id, session_id, turn_index`,
    );
    const [{ id, sessionId, turnIndex }] = rows;
    const rest = {
      clientTurnId: null,
      agentId: 1,
      clientExternalId: '',
      metadata: null,
      identity: null,
      startedAt: null,
      testDraft: false,
      lastEventId: '5-5',
      history: [],
      historyTokens: 0,
    };
    return { id, sessionId, turnIndex, ...rest };
  });
}

/**
 * Finishes a turn whose model has replied, with `waiting` turns queued behind it.
 * @param before changes the turn's rows before it is finished
 * @returns the events that were published, and the jobs whose handlers ran, in order
 */
async function finish(t: ExecutionContext, waiting: number, before: (db: TenantDb) => Promise<unknown>) {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  const turn = await insertTurn(database);
  const gate = createGate();
  const published: string[] = [];
  const ran: string[] = [];
  const log: Pick<SessionLog, 'reserve' | 'publish'> = {
    reserve: async () => ['6-0'],
    publish: async (events) => void published.push(...events.map(({ eventId }) => eventId)),
  };
  const ports = { database, settings: { leaseMs: 30_000 } } as Ports;
  const runner = jobRunner<TurnJob, Prepared>({
    database,
    kind: turnKind,
    concurrency: 10,
    perTenantLimit: 50,
    backoffMs: () => 0,
    log: createLogger('session', { LOG_LEVEL: 'silent' }),
    async handler(run) {
      ran.push(`${run.data.turnId - turn.id}.${run.attempt}`);
      if (run.data.turnId !== turn.id) return;
      await gate.pass();
      await finishTurn(ports, run, turn, { kind: 'reply', reply }, log as SessionLog);
    },
  });
  await runner.start();
  t.teardown(() => runner.stop());
  for (let behind = 0; behind <= waiting; behind += 1) {
    const data: TurnJob = { sessionId: turn.sessionId, turnId: turn.id + behind, requestId: 'r' };
    await database.transact(1, (db) => jobs(db).append({ kind: turnKind, key: String(turn.sessionId), data }));
  }
  await database.transact(1, before);
  gate.open();
  return { database, turn, published, ran };
}

const countJobs = (database: Database) => database.transactShared(async ({ knex }) => (await knex('jobs')).length);

test('a reply is stored with the end of its job, and the next turn starts', async (t) => {
  const { database, published, ran } = await finish(t, 1, async () => undefined);
  await eventually('all turns have ended', async () => (await countJobs(database)) === 0);
  t.deepEqual(ran, ['0.1', '1.1']);
  t.deepEqual(published, ['6-0']);
});

test('a turn interrupted before it ends is stored as interrupted, and the next turn starts once', async (t) => {
  const interrupt = ({ knex }: TenantDb) => knex.raw('UPDATE turns SET interrupted = true');
  const { database, published, ran } = await finish(t, 1, interrupt);
  await eventually('all turns have ended', async () => (await countJobs(database)) === 0);
  t.deepEqual(ran, ['0.1', '1.1']);
  t.deepEqual(published, ['6-0']);
  const turns = await database.transact(1, ({ knex }) => knex('turns').select('state', 'interrupted'));
  t.deepEqual(turns, [{ state: 'DONE', interrupted: true }]);
});

for (const waiting of [0, 1, 2]) {
  test(`a turn that an earlier try has ended is only published again, with ${waiting} turns queued`, async (t) => {
    // The state after a COMMIT whose response was lost: the reply is stored, the job deleted, and another process has the next job.
    const { database, published, ran } = await finish(t, waiting, async (db) => {
      const [turn] = await db.knex('turns').select('id', 'sessionId', 'turnIndex');
      await turnStore(db).storeReply(turn.sessionId, turn, reply, '6-0');
      await db.knex.raw(`DELETE FROM jobs WHERE state = 'running'`);
      await db.knex.raw(
        `UPDATE jobs SET state = 'running', attempt = 1, lease_owner = 'other', lease_token = gen_random_uuid(),
                lease_until = parley_now() + interval '1 hour' WHERE id = (SELECT min(id) FROM jobs)`,
      );
    });
    await eventually('the event is published', () => published.length > 0);
    t.deepEqual(published, ['6-0']);
    t.deepEqual(ran, ['0.1']);
    t.is(await countJobs(database), waiting);
    const messages = await database.transact(1, ({ knex }) => knex('messages').pluck('text'));
    t.deepEqual(messages, ['Re']);
  });
}
