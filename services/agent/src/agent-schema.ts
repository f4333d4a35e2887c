import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { agents } from './migrations/001-agents.ts';

/** The tables of agent. Nobody but agent reads them. */
export const agentSchema: SchemaDeclaration = {
  name: 'agent',
  tables: { agents: 'tenant', agent_audit_logs: 'tenant', workflows: 'tenant' },
  migrations: [agents],
};
