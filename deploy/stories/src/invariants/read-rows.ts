import type { Database } from '@parley/chassis/database/types';
import { schemas } from '@parley/local/schemas';
import type { Facts } from './facts.ts';

type Rows = Omit<Facts, 'topics' | 'told' | 'asked'>;

/** The rows of all services, or of some tenants alone. */
export async function readRows(database: (name: string) => Database, only?: readonly number[]): Promise<Rows> {
  const all: Rows['tenants'] = await database('identity').transactShared(({ knex }) =>
    knex('tenants').select(
      'id',
      knex.raw('(suspended_by_tenant OR suspended_by_operator) AS suspended'),
      knex.raw('deleted_at IS NOT NULL AS deleted'),
    ),
  );
  const isWanted = (tenantId: number | null) => !only || (tenantId !== null && only.includes(tenantId));
  const tenants = all.filter(({ id }) => isWanted(id));
  const rows: Rows = {
    tenants,
    agents: [],
    sessions: [],
    messages: [],
    turns: [],
    evaluations: [],
    jobs: [],
    outbox: [],
    inbox: [],
  };
  for (const { id } of tenants) await readTenant(database, id, rows);
  for (const { name } of schemas) {
    const plumbing = await readPlumbing(database(name));
    rows.jobs.push(...plumbing.jobs.filter(({ tenantId }) => isWanted(tenantId)));
    rows.outbox.push(...plumbing.outbox.filter(({ tenantId }) => isWanted(tenantId)));
    rows.inbox.push(...plumbing.inbox);
  }
  return rows;
}

async function readTenant(database: (name: string) => Database, tenantId: number, rows: Rows): Promise<void> {
  await database('session').read(tenantId, async ({ knex }) => {
    const ofTenant = { tenant_id: tenantId };
    rows.sessions.push(
      ...(await knex('sessions')
        .where(ofTenant)
        .select('id', 'status', 'judged', { tenantId: 'tenant_id', agentId: 'agent_id', endedAt: 'ended_at' })),
    );
    rows.messages.push(
      ...(await knex('messages')
        .where(ofTenant)
        .select('role', 'text', { sessionId: 'session_id', turnIndex: 'turn_index', exchangeIndex: 'exchange_index' })),
    );
    rows.turns.push(
      ...(await knex('turns').where(ofTenant).select('id', 'state', 'attempt', 'interrupted', {
        sessionId: 'session_id',
        turnIndex: 'turn_index',
        failureCode: 'failure_code',
      })),
    );
  });
  await database('agent').read(tenantId, async ({ knex }) => {
    const ids: number[] = await knex('agents').pluck('id');
    rows.agents.push(...ids.map((id) => ({ id, tenantId })));
  });
  await database('evaluation').read(tenantId, async ({ knex }) => {
    rows.evaluations.push(
      ...(await knex('evaluations').select({
        tenantId: 'tenant_id',
        sessionId: 'session_id',
        judgedBy: 'judged_by',
        generatedAt: 'generated_at',
      })),
    );
  });
}

interface JobRow {
  tenant_id: number | null;
  kind: string;
  key: string;
  state: string;
  due_ms: number;
  lease_ms: number | null;
  turn_id: number | null;
}

type Plumbing = Pick<Rows, 'jobs' | 'outbox' | 'inbox'>;

function readPlumbing(database: Database): Promise<Plumbing> {
  const service = database.name;
  return database.transactShared(async ({ knex }) => {
    const events: { tenant_id: number; topic: string; key: string }[] = await knex('outbox').select(
      'tenant_id',
      'topic',
      'key',
    );
    const jobs: JobRow[] = await knex('jobs').select(
      'tenant_id',
      'kind',
      'key',
      'state',
      knex.raw('(extract(epoch FROM parley_now() - run_at) * 1000)::float8 AS due_ms'),
      knex.raw('(extract(epoch FROM lease_until - parley_now()) * 1000)::float8 AS lease_ms'),
      knex.raw(`(payload ->> 'turnId')::integer AS turn_id`),
    );
    const marks: { consumer: string; event_id: string }[] = await knex('inbox').select('consumer', 'event_id');
    return {
      outbox: events.map(({ tenant_id: tenantId, topic, key }) => ({ service, tenantId, topic, key })),
      jobs: jobs.map(
        ({ tenant_id: tenantId, kind, key, state, due_ms: dueMs, lease_ms: leaseMs, turn_id: turnId }) => ({
          service,
          tenantId,
          kind,
          key,
          state,
          dueMs,
          leaseMs,
          turnId: turnId ?? undefined,
        }),
      ),
      inbox: marks.map(({ consumer, event_id: eventId }) => ({ consumer, eventId })),
    };
  });
}
