import { createHash } from 'node:crypto';
import { startEmbeddedDatabase } from '@parley/embedded/embedded';
import { migrateSchema } from '@parley/postgres/database/migrate';
import type { Migration, SchemaDeclaration } from '@parley/postgres/database/types';
import type { Knex } from 'knex';
import { readCatalogue } from './catalogue.ts';
import { losses } from './losses.ts';
import { earlierMerged, listedName, readMerged, type Step, withNew, writeMerged } from './merged-migrations.ts';

/** Creates and migrates a new schema, and compares the database's catalogue before and after each migration. Does not drop the schema. */
export async function observeMigrations(url: string, schema: SchemaDeclaration, schemaName: string): Promise<Step[]> {
  const steps: Step[] = [];
  await migrateSchema({
    url,
    appUrl: url,
    schema,
    schemaName,
    apply: async (migration, knex) => void steps.push(await observe(schema.name, migration, knex)),
  });
  return steps;
}

/** Applies one migration of a schema in its transaction. */
export async function observe(owner: string, migration: Migration, knex: Knex.Transaction): Promise<Step> {
  const { name, contracts, up } = migration;
  const before = await readCatalogue(knex);
  const statements: string[] = [];
  const note = ({ sql, bindings = [] }: { sql: string; bindings?: unknown[] }) =>
    statements.push([bare(sql), ...bindings.map((each) => JSON.stringify(each))].join(' '));
  knex.on('query', note);
  await up(knex);
  knex.off('query', note);
  return {
    name: listedName(owner, name),
    contracts,
    hash: createHash('sha256').update(statements.join(';\n')).digest('hex'),
    losses: [...losses(before, await readCatalogue(knex)), ...statements.flatMap(lostRows)],
  };
}

function bare(sql: string): string {
  return sql.replaceAll(/--.*$/gmu, '').replaceAll(/\s+/gu, ' ').trim();
}

/** Finds statements that delete rows, because the catalogue does not show deleted rows. */
function lostRows(statement: string): string[] {
  const found = statement.matchAll(/\b(?:delete\s+from|truncate(?:\s+table)?)\s+(?:only\s+)?"?(\w+)/giu);
  return [...found].map(([, table]) => `rows of ${table} are deleted`);
}

/**
 * Adds new migrations to the list of merged migrations, with the hash of the statements that they run on an embedded in-memory database.
 * Entries that main already has do not change.
 * @returns the names of added entries, and of unmerged entries that were updated.
 */
export async function listMigrations(schemas: SchemaDeclaration[]): Promise<string[]> {
  const database = await startEmbeddedDatabase({ folder: null });
  const steps: Step[] = [];
  try {
    for (const schema of schemas) steps.push(...(await observeMigrations(database.url, schema, schema.name)));
  } finally {
    await database.stop();
  }
  const before = readMerged();
  const after = withNew(steps, earlierMerged() ?? before);
  writeMerged(after);
  return Object.keys(after).filter((name) => after[name] !== before[name]);
}
