import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { tombstonesMigration } from '@parley/postgres/tenant-tombstones';
import { connectors } from './migrations/001-connectors.ts';
import { customActions } from './migrations/002-custom-actions.ts';
import { calls } from './migrations/003-calls.ts';
import { keptCallBytes } from './migrations/005-kept-call-bytes.ts';

export const actionSchema: SchemaDeclaration = {
  name: 'action',
  tables: {
    mcp_connectors: 'tenant',
    tool_schemas: 'tenant',
    custom_actions: 'tenant',
    partner_credentials: 'tenant',
    outbound_call_counters: 'tenant',
    outbound_calls: 'tenant',
    deleted_tenants: 'tenant',
    sealing_tenants: 'internal',
    operator_audit: 'internal',
    calling_processes: 'internal',
    turn_calls: 'internal',
    kept_call_bytes: 'internal',
    outbound_call_days: 'internal',
  },
  migrations: [connectors, customActions, calls, tombstonesMigration('004-deleted-tenants'), keptCallBytes],
};
