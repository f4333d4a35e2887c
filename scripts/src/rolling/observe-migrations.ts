import { createHash } from 'node:crypto';
import { migrateSchema } from '@parley/chassis/database/migrate';
import type { Migration, SchemaDeclaration } from '@parley/chassis/database/types';
import type { Knex } from 'knex';
import { readCatalogue } from './catalogue.ts';
import { losses } from './losses.ts';

/** One migration, as it was seen at work. */
export interface Step {
  /** `session/001-conversations`; those that every schema has are `chassis/…`. */
  name: string;
  contracts: string | undefined;
  /** Of its statements, whatever their comments and layout. */
  hash: string;
  /** What it takes from the version before, one sentence each. */
  losses: string[];
}

export interface ObservedSchema {
  /** A database that may be written to, e.g. an embedded one in memory. */
  url: string;
  schema: SchemaDeclaration;
  /** A schema that is not there yet, and stays. */
  schemaName: string;
}

/** Migrates an empty schema, and looks at the database's own catalogue before and after each step. */
export async function observeMigrations({ url, schema, schemaName }: ObservedSchema): Promise<Step[]> {
  const steps: Step[] = [];
  await migrateSchema({
    url,
    appUrl: url,
    schema,
    schemaName,
    apply: async (migration, knex) => void steps.push(await observed(schema.name, migration, knex)),
  });
  return steps;
}

async function observed(owner: string, { name, contracts, up }: Migration, knex: Knex.Transaction): Promise<Step> {
  const before = await readCatalogue(knex);
  const statements: string[] = [];
  const note = ({ sql, bindings = [] }: { sql: string; bindings?: unknown[] }) =>
    statements.push([bare(sql), ...bindings.map((each) => JSON.stringify(each))].join(' '));
  knex.on('query', note);
  try {
    await up(knex);
  } finally {
    knex.off('query', note);
  }
  return {
    name: name.startsWith('chassis/') ? name : `${owner}/${name}`,
    contracts,
    hash: createHash('sha256').update(statements.join(';\n')).digest('hex'),
    losses: [...losses(before, await readCatalogue(knex)), ...statements.flatMap(lostRows)],
  };
}

function bare(sql: string): string {
  return sql.replaceAll(/--.*$/gmu, '').replaceAll(/\s+/gu, ' ').trim();
}

/** Rows that go leave no trace in the catalogue. */
function lostRows(statement: string): string[] {
  const found = statement.matchAll(/\b(?:delete\s+from|truncate(?:\s+table)?)\s+(?:only\s+)?"?(\w+)/giu);
  return [...found].map(([, table]) => `rows of ${table} are deleted`);
}
