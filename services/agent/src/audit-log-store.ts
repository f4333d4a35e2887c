import type { AnswerRoom, AskedFields } from '@parley/chassis/answer-budget';
import { columnsWithin, listWithin } from '@parley/chassis/database/list-within';
import type { TenantDb } from '@parley/chassis/database/types';
import type { AuditLog } from './agent.ts';

interface AuditLogRow {
  id: number;
  tenant_id: number;
  agent_id: number;
  action: AuditLog['action'];
  user_id: number | null;
  username: string | null;
  changes: AuditLog['changes'];
  created_at: Date;
}

const longColumns = [
  { field: 'changes', column: 'changes', instead: "'{}'::jsonb" },
  { field: 'username', column: 'username', instead: 'NULL' },
];

/** What one tenant's people changed on their agents. */
export function auditLogStore({ knex, tenantId }: TenantDb) {
  return {
    /** Newest first; changes that are not asked for are empty. @throws DomainError `invalid`, `ANSWER_TOO_LARGE`. */
    async listOf(agentId: number, { room, fields }: { room: AnswerRoom; fields: AskedFields }): Promise<AuditLog[]> {
      const query = knex('agent_audit_logs')
        .select(knex.raw(columnsWithin(['id', 'agent_id', 'action', 'user_id', 'created_at'], longColumns, fields)))
        .where({ tenant_id: tenantId, agent_id: agentId })
        .orderBy('id', 'desc');
      return (await listWithin<AuditLogRow>({ knex }, room, query)).map((row) => fromRow(row));
    },
    async insert({ agentId, action, userId, username, changes }: Omit<AuditLog, 'id' | 'createdAt'>): Promise<void> {
      await knex('agent_audit_logs').insert({
        tenant_id: tenantId,
        agent_id: agentId,
        action,
        user_id: userId,
        username,
        changes: JSON.stringify(changes),
      });
    },
  };
}

function fromRow({ id, agent_id, action, user_id, username, changes, created_at }: AuditLogRow): AuditLog {
  return { id, agentId: agent_id, action, userId: user_id, username, changes, createdAt: created_at };
}
