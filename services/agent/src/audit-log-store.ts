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

/** What one tenant's people changed on their agents. */
export function auditLogStore({ knex, tenantId }: TenantDb) {
  return {
    /** Newest first. */
    async listOf(agentId: number): Promise<AuditLog[]> {
      const rows = await knex<AuditLogRow>('agent_audit_logs')
        .where({ tenant_id: tenantId, agent_id: agentId })
        .orderBy('id', 'desc');
      return rows.map((row) => fromRow(row));
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
