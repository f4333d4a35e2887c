import type { AnswerRoom, AskedFields } from '@parley/chassis/answer-budget';
import { columnsWithin, listWithin } from '@parley/chassis/database/list-within';
import { written } from '@parley/chassis/database/table';
import type { TenantDb } from '@parley/chassis/database/types';
import { type AuditLog, auditLogs } from './agent.ts';

/** What one tenant's people changed on their agents. */
export function auditLogStore({ knex, tenantId }: TenantDb) {
  return {
    /** Newest first; changes that are not asked for are empty. @throws DomainError `invalid`, `ANSWER_TOO_LARGE`. */
    async listOf(agentId: number, { room, fields }: { room: AnswerRoom; fields: AskedFields }): Promise<AuditLog[]> {
      const query = knex('agent_audit_logs')
        .select(knex.raw(columnsWithin(auditLogs, fields)))
        .where({ tenantId, agentId })
        .orderBy('id', 'desc');
      return listWithin<AuditLog>({ knex }, room, query);
    },
    async insert(log: Omit<AuditLog, 'id' | 'createdAt'>): Promise<void> {
      await knex('agent_audit_logs').insert({ ...written(auditLogs, log), tenantId });
    },
  };
}
