import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { written } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { type AuditLog, auditLogs } from './agent.ts';

export function auditLogStore(db: TenantDb) {
  const { knex, tenantId } = db;
  return {
    /** Lists an agent's audit entries, newest first; `changes` is empty unless selected. */
    async listOf(agentId: number): Promise<AuditLog[]> {
      const query = knex('agent_audit_logs')
        .select(knex.raw(columnsWithin(db, auditLogs)))
        .where({ tenantId, agentId })
        .orderBy('id', 'desc');
      return listWithin<AuditLog>(db, query);
    },
    async insert(log: Omit<AuditLog, 'id' | 'createdAt'>): Promise<void> {
      await knex('agent_audit_logs').insert({ ...written(auditLogs, log), tenantId });
    },
  };
}
