import { internalMigrations } from '@parley/postgres/database/internal-tables';
import { schemas } from '@parley/units';
import { readMerged, unlisted } from './rolling/merged-migrations.ts';

const missing = unlisted([{ name: 'chassis', migrations: internalMigrations }, ...schemas], readMerged());

for (const name of missing) console.error(`${name} is not in the list of migrations: run scripts/migrate --list`);
if (missing.length > 0) process.exitCode = 1;
else console.log('all migrations are in the list');
