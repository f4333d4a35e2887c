import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { internalMigrations } from '@parley/postgres/database/internal-tables';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import type { Knex } from 'knex';

/**
 * Returns a hash that differs if two declarations create different tables. It covers the statements of all migrations, which are recorded
 * and not run (`raw` returns no rows), and the code that the chassis runs in addition.
 */
export async function schemaHash({ tables, migrations }: SchemaDeclaration): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(tables));
  const recorder: Pick<Knex.Transaction, 'raw'> = {
    raw: ((...statement: unknown[]) => {
      hash.update(JSON.stringify(statement));
      return Promise.resolve({ rows: [] });
    }) as unknown as Knex.Transaction['raw'],
  };
  for (const { name, up } of [...internalMigrations, ...migrations]) {
    hash.update(name);
    await up(recorder as Knex.Transaction);
  }
  for (const file of ['migrate', 'table-kinds']) {
    hash.update(readFileSync(new URL(import.meta.resolve(`@parley/postgres/database/${file}`))));
  }
  return hash.digest('hex');
}
