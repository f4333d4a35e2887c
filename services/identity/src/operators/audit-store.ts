import type { SharedDb } from '@parley/postgres/database/types';

export type Facts = Record<string, unknown>;

export interface NewAuditEntry {
  operator: string;
  action: string;
  tenantId?: number | undefined;
  userId?: number | undefined;
  facts: Facts;
  requestId: string;
}

export interface AuditEntry extends Required<Omit<NewAuditEntry, 'tenantId' | 'userId'>> {
  id: number;
  at: Date;
  tenantId: number | null;
  userId: number | null;
}

export interface AuditListing {
  tenantId?: number | undefined;
  userId?: number | undefined;
  before: number;
  limit: number;
}

export function auditStore({ knex }: SharedDb) {
  return {
    async insert({ facts, ...entry }: NewAuditEntry): Promise<void> {
      await knex('operator_audit').insert({ ...entry, facts: JSON.stringify(facts) });
    },

    async list({ tenantId, userId, before, limit }: AuditListing): Promise<AuditEntry[]> {
      const entries = knex<AuditEntry>('operator_audit').orderBy('id', 'desc').limit(limit);
      if (tenantId !== undefined) void entries.where({ tenantId });
      if (userId !== undefined) void entries.where({ userId });
      if (before > 0) void entries.where('id', '<', before);
      return entries;
    },
  };
}
