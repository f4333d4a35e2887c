import { schemas } from '@parley/local/units';
import type { Database, Transaction } from '@parley/postgres/database/types';
import type { Rows } from './facts.ts';

type Databases = (name: string) => Database;

const statements: Record<keyof Rows, string> = {
  tenants: `SELECT id, suspended_by_tenant OR suspended_by_operator AS suspended, deleted_at IS NOT NULL AS deleted FROM tenants`,
  agents: 'SELECT tenant_id, id FROM agents',
  sessions: 'SELECT tenant_id, id, agent_id, status, judged, ended_at FROM sessions',
  messages: 'SELECT session_id, role, text, turn_index, exchange_index FROM messages',
  turns: `SELECT turns.id, session_id, turn_index, state, attempt, interrupted, failure_code, messages.text
          FROM turns LEFT JOIN messages USING (tenant_id, session_id, turn_index)`,
  evaluations: 'SELECT tenant_id, session_id, judged_by, generated_at FROM evaluations',
  jobs: `SELECT tenant_id, kind, key, state, (payload ->> 'turnId')::integer AS turn_id,
           (extract(epoch FROM parley_now() - run_at) * 1000)::float8 AS due_ms,
           (extract(epoch FROM lease_until - parley_now()) * 1000)::float8 AS lease_ms
         FROM jobs`,
  outbox: 'SELECT tenant_id, topic, key FROM outbox',
  inbox: 'SELECT consumer, event_id FROM inbox',
};

/** The tenants, and the jobs, outbox and inbox rows of all services. Fast, because it is polled. */
export async function readTasks(database: Databases): Promise<Pick<Rows, 'tenants' | 'jobs' | 'outbox' | 'inbox'>> {
  const tenants = await database('identity').transactShared((db) => select(db, 'tenants'));
  const reads = schemas.map(({ name: service }) =>
    database(service).transactShared(async (db) => ({
      jobs: (await select(db, 'jobs')).map((job) => ({ ...job, service })),
      outbox: (await select(db, 'outbox')).map((event) => ({ ...event, service })),
      inbox: await select(db, 'inbox'),
    })),
  );
  const all = await Promise.all(reads);
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
  /** In one transaction: a table shows the rows of one tenant at a time. */
  const ofTenants = <Name extends keyof Rows>(service: string, name: Name) =>
    database(service).transactShared(async ({ asTenant }) => {
      const found: Rows[Name][number][] = [];
      for (const { id } of tenants) found.push(...(await asTenant(id, (db) => select(db, name))));
      return found as Rows[Name];
    });
  // names agents: the table. names sessions: likewise.
  const [agents, sessions, messages, turns, evaluations] = await Promise.all([
    ofTenants('agent', 'agents'),
    ofTenants('session', 'sessions'),
    ofTenants('session', 'messages'),
    ofTenants('session', 'turns'),
    ofTenants('evaluation', 'evaluations'),
  ]);
  const jobs = tasks.jobs.filter(({ tenantId }) => isWanted(tenantId));
  const outbox = tasks.outbox.filter(({ tenantId }) => isWanted(tenantId));
  return { tenants, agents, sessions, messages, turns, evaluations, jobs, outbox, inbox: tasks.inbox };
}

async function select<Name extends keyof Rows>({ knex }: Transaction, name: Name): Promise<Rows[Name]> {
  return (await knex.raw(statements[name])).rows;
}
