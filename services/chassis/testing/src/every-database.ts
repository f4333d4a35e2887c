import test, { type ExecutionContext } from 'ava';
import { leftOut } from './left-out.ts';
import { type DatabaseEngine, defaultEngine, testDatabaseUrl } from './test-database.ts';
import { replicaOf, testSchema } from './test-schema.ts';

type Declare = (title: string, run: (t: ExecutionContext) => Promise<void> | void) => void;

const noServer = 'left out, TEST_DATABASE_URL names no server';

/** The functions that tests use on one engine, in place of the functions of the same names. */
export interface OnDatabase {
  engine: DatabaseEngine;
  /** Declares a test as AVA does. Its title begins with the engine. */
  test: Declare & { serial: Declare };
  testSchema: typeof testSchema;
  replicaOf: typeof replicaOf;
  testDatabaseUrl(): Promise<string>;
}

/**
 * Declares the same tests for the embedded database and, if `TEST_DATABASE_URL` names a server, for the server. Under `CI` a missing server
 * is a failure.
 */
export function onEveryDatabase(declare: (on: OnDatabase) => void): void {
  for (const engine of ['embedded', 'server'] as const) {
    if (engine === defaultEngine() || engine === 'embedded') declare(onDatabase(engine));
    else leftOut(`${engine}: ${noServer}`);
  }
}

/**
 * Declares tests for the server that `TEST_DATABASE_URL` names, otherwise for the embedded database. Use it for code that behaves the same
 * on both, apart from differences that other tests cover.
 */
export function onOneDatabase(declare: (on: OnDatabase) => void): void {
  declare(onDatabase(defaultEngine()));
}

/** Declares tests for a server only, because the embedded database runs one transaction at a time. */
export function onDatabaseServer(declare: (on: OnDatabase) => void): void {
  if (defaultEngine() === 'server') declare(onDatabase('server'));
  else leftOut(`server only: ${noServer}`);
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
