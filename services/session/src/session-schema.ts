import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { conversations } from './migrations/001-conversations.ts';
import { deletedTenants } from './migrations/002-deleted-tenants.ts';
import { tenantTombstones } from './migrations/003-tenant-tombstones.ts';
import { messageModels } from './migrations/004-message-models.ts';
import { committedKeys } from './migrations/005-committed-keys.ts';
import { messageCitations } from './migrations/006-message-citations.ts';
import { newestMessages } from './migrations/007-newest-messages.ts';
import { messageToolCalls } from './migrations/008-message-tool-calls.ts';
import { customers } from './migrations/009-customers.ts';
import { externalSync } from './migrations/010-external-sync.ts';
import { spentBySessions } from './migrations/011-spent-by-sessions.ts';
import { messageEnds } from './migrations/012-message-ends.ts';

export const sessionSchema: SchemaDeclaration = {
  name: 'session',
  tables: {
    sessions: 'tenant',
    messages: 'tenant',
    turns: 'tenant',
    events: 'tenant',
    deleted_tenants: 'tenant',
    committed_keys: 'internal',
    sync_deliveries: 'tenant',
    sync_delivery_days: 'internal',
    operator_audit: 'internal',
  },
  migrations: [
    conversations,
    deletedTenants,
    tenantTombstones,
    messageModels,
    committedKeys,
    messageCitations,
    newestMessages,
    messageToolCalls,
    customers,
    externalSync,
    spentBySessions,
    messageEnds,
  ],
};
