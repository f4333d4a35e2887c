import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { tombstonesMigration } from '@parley/postgres/tenant-tombstones';
import { exportRecords } from './migrations/001-export-records.ts';
import { sharedFiles } from './migrations/003-shared-files.ts';

export const exportSchema: SchemaDeclaration = {
  name: 'export',
  tables: { export_records: 'tenant', deleted_tenants: 'tenant' },
  migrations: [exportRecords, tombstonesMigration('002-deleted-tenants'), sharedFiles],
};
