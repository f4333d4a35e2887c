import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { agents } from './migrations/001-agents.ts';

export const agentSchema: SchemaDeclaration = {
  name: 'agent',
  tables: { agents: 'tenant', agent_audit_logs: 'tenant', workflows: 'tenant' },
  migrations: [agents],
};
