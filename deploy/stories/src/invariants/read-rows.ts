import type { Database, TenantDb } from '@parley/chassis/database/types';
import { schemas } from '@parley/local/schemas';
import type { Facts } from './facts.ts';

type Rows = Omit<Facts, 'topics' | 'told' | 'asked'>;
type Databases = (name: string) => Database;

/** What services have still to do, or have taken, and for whom: quick, for whoever asks again and again. */
export async function readTasks(database: Databases): Promise<Pick<Rows, 'tenants' | 'jobs' | 'outbox' | 'inbox'>> {
  const tenants: Rows['tenants'] = await database('identity').transactShared(({ knex }) =>
    knex('tenants').select(
      'id',
      knex.raw('(suspended_by_tenant OR suspended_by_operator) AS suspended'),
      knex.raw('deleted_at IS NOT NULL AS deleted'),
    ),
  );
  const all = await Promise.all(schemas.map(({ name }) => tasksOf(database(name))));
  return {
    tenants,
    jobs: all.flatMap(({ jobs }) => jobs),
    outbox: all.flatMap(({ outbox }) => outbox),
    inbox: all.flatMap(({ inbox }) => inbox),
  };
}

/** The rows of all services, or of some tenants alone. */
export async function readRows(database: Databases, only?: readonly number[]): Promise<Rows> {
  const tasks = await readTasks(database);
  const isWanted = (id: number | null) => !only || (id !== null && only.includes(id));
  const tenants = tasks.tenants.filter(({ id }) => isWanted(id));
  const ids = tenants.map(({ id }) => id);
  const tenantId = 'tenant_id';
  const sessionId = 'session_id';
  const [sessions, messages, turns, agents, evaluations] = await Promise.all([
    ofTenants<Rows['sessions']>(database('session'), ids, (knex) =>
      knex('sessions').select('id', 'status', 'judged', { tenantId, agentId: 'agent_id', endedAt: 'ended_at' }),
    ),
    ofTenants<Rows['messages']>(database('session'), ids, (knex) =>
      knex('messages').select('role', 'text', { sessionId, turnIndex: 'turn_index', exchangeIndex: 'exchange_index' }),
    ),
    ofTenants<Rows['turns']>(database('session'), ids, (knex) =>
      knex('turns')
        .select('id', 'state', 'attempt', 'interrupted')
        .select({ sessionId, turnIndex: 'turn_index', failureCode: 'failure_code' }),
    ),
    ofTenants<Rows['agents']>(database('agent'), ids, (knex) => knex('agents').select('id', { tenantId })),
    ofTenants<Rows['evaluations']>(database('evaluation'), ids, (knex) =>
      knex('evaluations').select({ tenantId, sessionId, judgedBy: 'judged_by', generatedAt: 'generated_at' }),
    ),
  ]);
  return {
    tenants,
    sessions,
    messages,
    turns,
    agents,
    evaluations,
    inbox: tasks.inbox,
    jobs: tasks.jobs.filter((job) => isWanted(job.tenantId)),
    outbox: tasks.outbox.filter((event) => isWanted(event.tenantId)),
  };
}

/** What a query finds for each of these tenants, in one transaction: a table shows the rows of one at a time. */
function ofTenants<T extends unknown[]>(
  database: Database,
  tenantIds: number[],
  query: (knex: TenantDb['knex']) => PromiseLike<T>,
): Promise<T> {
  return database.transactShared(async ({ asTenant }) => {
    const found: unknown[] = [];
    for (const id of tenantIds) found.push(...(await asTenant(id, async ({ knex }) => query(knex))));
    return found as T;
  });
}

function tasksOf(database: Database): Promise<Pick<Rows, 'jobs' | 'outbox' | 'inbox'>> {
  const service = database.name;
  const tenantId = 'tenant_id';
  return database.transactShared(async ({ knex }) => {
    const outbox: Omit<Rows['outbox'][number], 'service'>[] = await knex('outbox').select('topic', 'key', { tenantId });
    const jobs: Omit<Rows['jobs'][number], 'service'>[] = await knex('jobs').select('kind', 'key', 'state', {
      tenantId,
      dueMs: knex.raw('(extract(epoch FROM parley_now() - run_at) * 1000)::float8'),
      leaseMs: knex.raw('(extract(epoch FROM lease_until - parley_now()) * 1000)::float8'),
      turnId: knex.raw(`(payload ->> 'turnId')::integer`),
    });
    return {
      outbox: outbox.map((event) => ({ service, ...event })),
      jobs: jobs.map((job) => ({ service, ...job, turnId: job.turnId ?? undefined })),
      inbox: await knex('inbox').select('consumer', { eventId: 'event_id' }),
    };
  });
}
