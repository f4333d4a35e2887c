import type { Database, Transaction } from '@parley/postgres/database/types';
import { schemas } from '@parley/units';
import type { Rows } from './facts.ts';

type Databases = (name: string) => Database;

const statements: Record<keyof Rows, string> = {
  tenants: `SELECT id, suspended_by_tenant OR suspended_by_operator AS suspended, deleted_at IS NOT NULL AS deleted FROM tenants`,
  agents: 'SELECT tenant_id, id FROM agents',
  sessions: 'SELECT tenant_id, id, agent_id, status, judged, ended_at FROM sessions',
  messages: 'SELECT session_id, role, text, turn_index, exchange_index, finish_reason FROM messages',
  turns: `SELECT turns.id, session_id, turn_index, state, attempt, interrupted, failure_code, messages.text
          FROM turns LEFT JOIN messages USING (tenant_id, session_id, turn_index)`,
  evaluations: 'SELECT tenant_id, session_id, judged_by, generated_at FROM evaluations',
  jobs: `SELECT tenant_id, kind, key, state, (payload ->> 'turnId')::integer AS turn_id,
           (payload ->> 'documentId')::integer AS document_id,
           (extract(epoch FROM parley_now() - run_at) * 1000)::float8 AS due_ms,
           (extract(epoch FROM lease_until - parley_now()) * 1000)::float8 AS lease_ms
         FROM jobs`,
  outbox: 'SELECT tenant_id, topic, key FROM outbox',
  inbox: 'SELECT consumer, event_id FROM inbox',
  reservations: 'SELECT tenant_id, call_id FROM usage_reservations',
  heldKeys: 'SELECT tenant_id, id FROM idempotency_keys WHERE result_sealed IS NULL AND lease_until > parley_now()',
  usage: `WITH calls AS (
            SELECT 'spend of ' || month AS what, sum(cost_usd) AS sum FROM usage_calls GROUP BY month
            UNION ALL SELECT 'reserved of ' || month, sum(cost_usd) FROM usage_reservations
                       WHERE tenant_id = current_setting('parley.tenant')::integer GROUP BY month
            UNION ALL SELECT 'calls of ' || model_id || ' for ' || operation, count(*) FROM usage_calls
                       WHERE served GROUP BY model_id, operation
          ), totals AS (
            SELECT 'spend of ' || month AS what, spent_usd AS total FROM usage_months
            UNION ALL SELECT 'reserved of ' || month, reserved_usd FROM usage_months
            UNION ALL SELECT 'calls of ' || model || ' for ' || operation, count FROM usage_counts
          )
          SELECT current_setting('parley.tenant')::integer AS tenant_id, what,
            trim_scale(coalesce(total, 0))::text AS total, trim_scale(coalesce(sum, 0))::text AS sum
          FROM totals FULL JOIN calls USING (what)`,
  kept: `WITH documents AS (
            SELECT id, chunk_count, stored_bytes, (SELECT count(*) FROM knowledge_chunks c
              WHERE c.tenant_id = d.tenant_id AND c.document_id = d.id AND c.generation = d.generation) AS chunks
              FROM knowledge_documents d WHERE deleted_at IS NULL
          ), counted AS (
            SELECT 'knowledge bases' AS what, (SELECT knowledge_bases FROM knowledge_usage)::bigint AS total,
              (SELECT count(*) FROM knowledge_bases WHERE deleted_at IS NULL) AS sum
            UNION ALL SELECT 'chunks', (SELECT chunks FROM knowledge_usage), (SELECT sum(chunk_count) FROM documents)
            UNION ALL SELECT 'stored bytes', (SELECT stored_bytes FROM knowledge_usage),
              (SELECT sum(stored_bytes) FROM documents)
            UNION ALL SELECT 'chunks of document ' || id, chunk_count, chunks FROM documents
          )
          SELECT current_setting('parley.tenant')::integer AS tenant_id, what,
            coalesce(total, 0)::text AS total, coalesce(sum, 0)::text AS sum FROM counted`,
  documents: 'SELECT tenant_id, id, parse_status FROM knowledge_documents WHERE deleted_at IS NULL',
  toolCalls: `WITH begun AS (
            SELECT coalesce(session_id, 0) AS session_id, count(result_sealed) AS ended,
              count(*) FILTER (WHERE result_sealed IS NULL AND EXISTS (SELECT FROM calling_processes
                WHERE calling_processes.id = process_id AND lease_until > parley_now())) AS running
              FROM turn_calls WHERE tenant_id = current_setting('parley.tenant')::integer GROUP BY 1
          ), logged AS (
            SELECT coalesce(session_id, 0) AS session_id, count(*) AS logged FROM outbound_calls
             WHERE kind <> 'TOOL_LIST' GROUP BY 1
          )
          SELECT current_setting('parley.tenant')::integer AS tenant_id, session_id, coalesce(ended, 0)::integer AS ended,
            coalesce(running, 0)::integer AS running, coalesce(logged, 0)::integer AS logged
          FROM begun FULL JOIN logged USING (session_id)`,
  workflowRuns: 'SELECT tenant_id, session_id, status FROM workflow_runs',
  calls: 'SELECT tenant_id, call_id, operation, model_id, estimated, tokens_in, tokens_out FROM usage_calls',
};

type Tasks = Pick<Rows, 'tenants' | 'jobs' | 'outbox' | 'inbox' | 'reservations' | 'heldKeys'>;

/**
 * Reads the tenants, the unsettled calls, and the jobs, outboxes and inboxes of all services. This function must be fast, because it is
 * called repeatedly.
 */
export async function readTasks(database: Databases): Promise<Tasks> {
  const { tenants, reservations, heldKeys } = await database('identity').transactShared(async (db) => ({
    tenants: await select(db, 'tenants'),
    reservations: await select(db, 'reservations'),
    heldKeys: await select(db, 'heldKeys'),
  }));
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
    reservations,
    heldKeys,
    jobs: all.flatMap(({ jobs }) => jobs),
    outbox: all.flatMap(({ outbox }) => outbox),
    inbox: all.flatMap(({ inbox }) => inbox),
  };
}

/** Reads the rows of all services. @param only reads only the rows of these tenants */
export async function readRows(database: Databases, only?: readonly number[]): Promise<Rows> {
  const tasks = await readTasks(database);
  const isWanted = (id: number | null) => !only || (id !== null && only.includes(id));
  const tenants = tasks.tenants.filter(({ id }) => isWanted(id));
  /** Reads the rows tenant by tenant, within one transaction, because a table shows the rows of only one tenant at a time. */
  const ofTenants = <Name extends keyof Rows>(service: string, name: Name) =>
    database(service).transactShared(async ({ asTenant }) => {
      const found: Rows[Name][number][] = [];
      for (const { id } of tenants) found.push(...(await asTenant(id, (db) => select(db, name))));
      return found as Rows[Name];
    });
  // allow-name agents: the table. allow-name sessions: the table. allow-name workflowRuns: the table.
  const [agents, sessions, messages, turns, evaluations, usage, kept, documents, toolCalls, workflowRuns, calls] =
    await Promise.all([
      ofTenants('agent', 'agents'),
      ofTenants('session', 'sessions'),
      ofTenants('session', 'messages'),
      ofTenants('session', 'turns'),
      ofTenants('evaluation', 'evaluations'),
      ofTenants('identity', 'usage'),
      ofTenants('knowledge', 'kept'),
      ofTenants('knowledge', 'documents'),
      ofTenants('action', 'toolCalls'),
      ofTenants('agent', 'workflowRuns'),
      ofTenants('identity', 'calls'),
    ]);
  const jobs = tasks.jobs.filter(({ tenantId }) => isWanted(tenantId));
  const outbox = tasks.outbox.filter(({ tenantId }) => isWanted(tenantId));
  const reservations = tasks.reservations.filter(({ tenantId }) => isWanted(tenantId));
  const heldKeys = tasks.heldKeys.filter(({ tenantId }) => isWanted(tenantId));
  const { inbox } = tasks;
  return {
    tenants,
    agents,
    sessions,
    messages,
    turns,
    evaluations,
    jobs,
    outbox,
    inbox,
    reservations,
    heldKeys,
    usage,
    kept,
    documents,
    toolCalls,
    workflowRuns,
    calls,
  };
}

async function select<Name extends keyof Rows>({ knex }: Transaction, name: Name): Promise<Rows[Name]> {
  return (await knex.raw(statements[name])).rows;
}
