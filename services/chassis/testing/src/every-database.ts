import test, { type ExecutionContext } from 'ava';
import { type DatabaseEngine, testDatabaseUrl, usualEngine } from './test-database.ts';
import { replicaOf, testSchema } from './test-schema.ts';

type Declare = (title: string, run: (t: ExecutionContext) => Promise<void> | void) => void;

/** What a test file takes from here in place of the functions of the same names, each for one engine. */
export interface OnDatabase {
  engine: DatabaseEngine;
  /** The engine stands before the title. */
  test: Declare & { serial: Declare };
  testSchema: typeof testSchema;
  replicaOf: typeof replicaOf;
  testDatabaseUrl(): Promise<string>;
}

/**
 * Declares tests for the embedded database and, where `TEST_DATABASE_URL` names one, for a server: what every PostgreSQL owes
 * to the services. Under `CI` it is a failure when there is no server.
 */
export function onEveryDatabase(declare: (on: OnDatabase) => void): void {
  for (const engine of ['embedded', 'server'] as const) {
    if (engine === usualEngine() || engine === 'embedded') declare(onDatabase(engine));
    else leaveOut(`${engine}: left out`);
  }
}

/** Declares tests that only a server can pass, since the embedded database runs one transaction at a time. */
export function onDatabaseServer(declare: (on: OnDatabase) => void): void {
  if (usualEngine() === 'server') declare(onDatabase('server'));
  else leaveOut('server only: left out');
}

function onDatabase(engine: DatabaseEngine): OnDatabase {
  const titled = (title: string) => `${engine}: ${title}`;
  return {
    engine,
    test: Object.assign<Declare, { serial: Declare }>((title, run) => test(titled(title), run), {
      serial: (title, run) => test.serial(titled(title), run),
    }),
    testSchema: (t, schema, options) => testSchema(t, schema, { engine, ...options }),
    replicaOf: (t, database, schema, options) => replicaOf(t, database, schema, { engine, ...options }),
    testDatabaseUrl: () => testDatabaseUrl(engine),
  };
}

function leaveOut(title: string): void {
  const why = `${title}, TEST_DATABASE_URL names no server`;
  if (process.env['CI']) test(why, (t) => t.fail('CI has every engine'));
  else test.skip(why, (t) => t.pass());
}
