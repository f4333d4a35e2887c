import { startEmbeddedDatabase } from '@parley/embedded/embedded';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { earlierMerged, readMerged, withNew, writeMerged } from '../rolling/merged-migrations.ts';
import { observeMigrations, type Step } from '../rolling/observe-migrations.ts';

/**
 * Puts what is new into the list of migrations, with the hash of the statements that it runs on an embedded database in
 * memory. What main has already is left as it is there.
 * @returns the names that were added or, unmerged as they are, brought up to date.
 */
export async function listMigrations(schemas: SchemaDeclaration[]): Promise<string[]> {
  const database = await startEmbeddedDatabase({ folder: null });
  const steps: Step[] = [];
  try {
    for (const schema of schemas) {
      steps.push(...(await observeMigrations(database.url, schema, schema.name)));
    }
  } finally {
    await database.stop();
  }
  const before = readMerged();
  const after = withNew(steps, earlierMerged() ?? before);
  writeMerged(after);
  return Object.keys(after).filter((name) => after[name] !== before[name]);
}
