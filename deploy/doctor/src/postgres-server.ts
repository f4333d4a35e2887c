import { misplacedExtension } from '@parley/postgres/database/migration-rights';
import { clockOutcome } from './clock.ts';
import { type Outcome, ok, wrong } from './outcome.ts';
import type { Connection } from './postgres-connection.ts';
import type { UsedSchema } from './postgres-logins.ts';

const oldestVersion = 150_000;

/** Checks a database and its server by the facts that one connection has read. @param schemas the schemas in the database */
export function databaseOutcomes(
  { facts, settings, at }: Pick<Connection, 'facts' | 'settings' | 'at'>,
  schemas: readonly Pick<UsedSchema, 'schema'>[],
): Outcome[] {
  const outcomes: Outcome[] = [];
  if (facts.version < oldestVersion) {
    const found = `${at} is on PostgreSQL ${facts.versionName}`;
    outcomes.push(wrong('postgres.version', settings, found, 'Use PostgreSQL 15 or newer.'));
  }
  if (facts.encoding !== 'UTF8') {
    const change = "Create the database anew, with ENCODING 'UTF8', and move what it has.";
    outcomes.push(wrong('postgres.encoding', settings, `the encoding of ${at} is ${facts.encoding}`, change));
  }
  const needed = new Map(schemas.flatMap(({ schema }) => Object.entries(schema.extensions ?? {})));
  outcomes.push(...[...needed].flatMap(([name, oldest]) => extensionOutcomes({ facts, settings, at }, name, oldest)));
  return [
    ...outcomes,
    ok('postgres.reachable', settings, `${at} answers, PostgreSQL ${facts.versionName}`),
    clockOutcome('postgres', settings, at.replace(/\/.*/u, ''), facts),
  ];
}

function extensionOutcomes(
  { facts, settings, at }: Pick<Connection, 'facts' | 'settings' | 'at'>,
  name: string,
  oldest: string,
): Outcome[] {
  const { installed, available, schema } = facts.extensions[name] ?? {};
  const check = `postgres.extension`;
  const title = name === 'vector' ? 'pgvector' : name;
  if (available === undefined) {
    const change = `Install ${title} ${oldest} or newer on the server, then CREATE EXTENSION ${name} in the database.`;
    return [wrong(check, settings, `the server of ${at} does not have ${title}`, change)];
  }
  if (!installed) {
    const change = `As a superuser: CREATE EXTENSION ${name} SCHEMA public.`;
    return [wrong(check, settings, `${at} does not have the extension ${name}`, change)];
  }
  if (schema && schema !== 'public') {
    const { found, change } = misplacedExtension(name, schema, at);
    return [wrong(check, settings, found, change)];
  }
  if (!isOlder(installed, oldest)) return [];
  const change = `Install ${title} ${oldest} or newer on the server, then ALTER EXTENSION ${name} UPDATE.`;
  return [wrong(check, settings, `${at} has ${title} ${installed}`, change)];
}

function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0;
}
