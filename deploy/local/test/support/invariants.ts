import { join } from 'node:path';
import type { Environment } from '@parley/chassis/config';
import { serviceDatabase } from '@parley/chassis/connect';
import { startEmbeddedDatabase } from '@parley/chassis/database/embedded';
import type { Database, TenantDb } from '@parley/chassis/database/types';
import { schemas } from '../../src/schemas.ts';

interface TenantRow {
  id: number;
  suspended: boolean;
  deleted: boolean;
}

interface SessionRow {
  id: number;
  agent_id: number;
  status: string;
}

interface MessageRow {
  session_id: number;
  role: 'USER' | 'MODEL';
  turn_index: number;
  exchange_index: number;
}

interface TurnRow {
  session_id: number;
  turn_index: number;
  state: string;
  failure_code: string | null;
}

/** Stands for as long as a session does: the look at whether it is idle. */
const expiry = 'session.expiry';

/**
 * What is wrong with the data of a mesh that has stopped, one sentence each: an empty list when nothing was lost, doubled
 * or left over. The data is that of the folder, or of `DATABASE_URL` where the environment has it.
 *
 * 1. Every message of a person has one reply or one recorded failure, and none is still waited for. 2. `turnIndex` counts from 0
 * in each session, without gap or repeat. 3. Each session that is over has exactly one evaluation, when its tenant lives and is
 * not suspended; no other has one. 4. Every outbox is empty, and no job is left. 5. What belongs together is of one tenant.
 */
export async function brokenInvariants(folder: string, env: Environment = {}): Promise<string[]> {
  const embedded = env.DATABASE_URL ? undefined : await startEmbeddedDatabase({ folder: join(folder, 'database') });
  const databases = new Map(schemas.map((schema) => [schema.name, serviceDatabase(env, schema, 1, embedded?.url)]));
  try {
    return await problemsOf((name) => databases.get(name) as Database);
  } finally {
    await Promise.all([...databases.values()].map((database) => database.close()));
    await embedded?.stop();
  }
}

async function problemsOf(database: (name: string) => Database): Promise<string[]> {
  const tenants: TenantRow[] = await database('identity').transactShared(({ knex }) =>
    knex('tenants').select(
      'id',
      knex.raw('(suspended_by_tenant OR suspended_by_operator) AS suspended'),
      knex.raw('deleted_at IS NOT NULL AS deleted'),
    ),
  );
  const problems: string[] = [];
  for (const tenant of tenants) problems.push(...(await problemsOfTenant(database, tenant)));
  for (const { name } of schemas) problems.push(...(await leftOver(database(name), tenants)));
  return problems;
}

async function problemsOfTenant(database: (name: string) => Database, tenant: TenantRow): Promise<string[]> {
  const of = <T>(name: string, work: (db: TenantDb) => Promise<T>) => database(name).transact(tenant.id, work);
  const { sessions, messages, turns } = await of('session', async ({ knex }) => ({
    sessions: await knex('sessions').select<SessionRow[]>('id', 'agent_id', 'status'),
    messages: await knex('messages')
      .select<MessageRow[]>('session_id', 'role', 'turn_index', 'exchange_index')
      .orderBy('turn_index'),
    turns: await knex('turns').select<TurnRow[]>('session_id', 'turn_index', 'state', 'failure_code'),
  }));
  const agents: number[] = await of('agent', ({ knex }) => knex('agents').pluck('id'));
  const judged: number[] = await of('evaluation', ({ knex }) => knex('evaluations').pluck('session_id'));

  const problems = sessions.flatMap((session) =>
    problemsOfSession(
      session,
      messages.filter(({ session_id: id }) => id === session.id),
      turns.filter(({ session_id: id }) => id === session.id),
    ),
  );
  const known = new Set(sessions.map(({ id }) => id));
  const own = new Set(agents);
  for (const { id, agent_id: agentId } of sessions) {
    if (!own.has(agentId)) problems.push(`session ${id} talks to agent ${agentId}, which its tenant does not have`);
  }
  for (const id of judged) {
    if (!known.has(id)) problems.push(`an evaluation is of session ${id}, which its tenant ${tenant.id} does not have`);
  }
  for (const { id, status } of sessions) {
    const count = judged.filter((sessionId) => sessionId === id).length;
    const isOver = status === 'ENDED' || status === 'EXPIRED';
    if (count > 1 || (count > 0 && !isOver)) problems.push(`session ${id} is ${status} and has ${count} evaluations`);
    if (count === 0 && isOver && !tenant.deleted && !tenant.suspended) {
      problems.push(`session ${id} is ${status} and has no evaluation`);
    }
  }
  return problems;
}

function problemsOfSession({ id, status }: SessionRow, messages: MessageRow[], turns: TurnRow[]): string[] {
  const problems: string[] = [];
  const indexes = messages.map(({ turn_index: index }) => index).join();
  if (indexes !== messages.map((_, n) => n).join()) problems.push(`session ${id} counts its messages ${indexes}`);
  for (const { role, turn_index: index } of messages) {
    if (role !== 'USER') continue;
    const replies = messages.filter((row) => row.role === 'MODEL' && row.exchange_index === index).length;
    const mine = turns.filter((turn) => turn.turn_index === index);
    const failures = mine.filter((turn) => turn.state === 'FAILED' && turn.failure_code !== null).length;
    if (mine.length !== 1 || replies + failures !== 1) {
      const states = mine.map(({ state }) => state).join();
      problems.push(`message ${index} of session ${id} has ${replies} replies, ${failures} failures, turns ${states}`);
    }
  }
  const open = turns.filter(({ state }) => state === 'QUEUED' || state === 'RUNNING').length;
  if (open > 0 && status !== 'ACTIVE') problems.push(`session ${id} is ${status} and has ${open} open turns`);
  return problems;
}

/** What waits in a service, whose tenants are none of the known ones included. */
async function leftOver(database: Database, tenants: TenantRow[]): Promise<string[]> {
  const waits = new Set(tenants.filter(({ suspended }) => suspended).map(({ id }) => id));
  return database.transactShared(async ({ knex }) => {
    const events: { topic: string; key: string }[] = await knex('outbox').select('topic', 'key');
    const jobs: { kind: string; key: string; state: string; tenant_id: number }[] = await knex('jobs').select(
      'kind',
      'key',
      'state',
      'tenant_id',
    );
    return [
      ...events.map(({ topic, key }) => `${database.name} has not published ${topic} of ${key}`),
      ...jobs
        .filter(({ kind, tenant_id: id }) => kind !== expiry && !waits.has(id))
        .map(({ kind, key, state }) => `${database.name} has a ${state} job ${kind} of ${key}`),
    ];
  });
}
