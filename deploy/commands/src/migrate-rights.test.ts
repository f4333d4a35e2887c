import { randomBytes } from 'node:crypto';
import { rolesOf } from '@parley/postgres/database/identifiers';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { openPool } from '@parley/postgres/driver/pool';
import { onDatabaseServer } from '@parley/testing/every-database';
import { testDatabaseUrl } from '@parley/testing/test-database';
import type { ExecutionContext } from 'ava';
import { migrateAll } from './migrate-all.ts';

const random = () => randomBytes(4).toString('hex');

function schemaNamed(name: string, extensions?: Record<string, string>): SchemaDeclaration {
  const vector = extensions ? ', v vector(3)' : '';
  return {
    name: `${name}_${random()}`,
    tables: { pages: 'tenant' },
    ...(extensions && { extensions }),
    migrations: [
      {
        name: '001-pages',
        up: async (knex) => {
          if (extensions) await knex.raw('CREATE EXTENSION IF NOT EXISTS vector SCHEMA public');
          await knex.raw(`CREATE TABLE pages (tenant_id integer NOT NULL${vector})`);
        },
      },
    ],
  };
}

const vector = { vector: '0.8.0' };

/**
 * Creates a database on the test server, and a login that owns it. The database, the login and the roles of the given schemas are dropped
 * at the end of the test.
 */
async function installation(t: ExecutionContext, schemas: SchemaDeclaration[], powers = 'CREATEROLE') {
  const name = `install_${random()}`;
  const url = new URL(await testDatabaseUrl('server'));
  const run = async (database: string, ...statements: string[]) => {
    const at = Object.assign(new URL(url), { pathname: `/${database}` }).href;
    const pool = openPool({ url: at, poolSize: 1, statementTimeoutMs: 60_000 });
    try {
      for (const statement of statements) await pool.raw(statement);
      const { rows } = await pool.raw(`SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1`);
      return rows.map(({ nspname }: { nspname: string }) => nspname);
    } finally {
      await pool.destroy();
    }
  };
  const asSuperuser = (...statements: string[]) => run(url.pathname.slice(1), ...statements);
  await asSuperuser(`CREATE ROLE ${name} LOGIN PASSWORD 'pass' ${powers}`, `CREATE DATABASE ${name} OWNER ${name}`);
  t.teardown(async () => {
    const roles = schemas.flatMap((schema) => Object.values(rolesOf(schema.name)));
    await asSuperuser(`DROP DATABASE ${name} WITH (FORCE)`, `DROP ROLE IF EXISTS ${[...roles, name].join(', ')}`);
  });
  return {
    name,
    env: { DATABASE_URL: Object.assign(new URL(url), { pathname: `/${name}`, username: name, password: 'pass' }).href },
    asSuperuser,
    serverVersion: async () => {
      const pool = openPool({ url: url.href, poolSize: 1, statementTimeoutMs: 60_000 });
      const { rows } = await pool.raw("SELECT current_setting('server_version_num')::int / 10000 AS version");
      await pool.destroy();
      return rows[0].version as number;
    },
    inside: (...statements: string[]) => run(name, ...statements),
    schemas: () => run(name),
  };
}

async function refusal(
  t: ExecutionContext,
  schemas: SchemaDeclaration[],
  env: Record<string, string>,
): Promise<string[]> {
  const { message } = await t.throwsAsync(migrateAll(schemas, env, () => t.fail('a schema was migrated')));
  return message.split('\n');
}

onDatabaseServer(({ test }) => {
  test('without the extension or the right to create it, nothing is migrated', async (t) => {
    const [first, second] = [schemaNamed('first'), schemaNamed('second', vector)];
    const { name, env, schemas, inside } = await installation(t, [first, second]);

    t.deepEqual(await refusal(t, [first, second], env), [
      'Nothing was migrated:',
      `${name} does not have the extension vector, and the login may not create it. As a superuser: CREATE EXTENSION vector SCHEMA public.`,
    ]);
    t.deepEqual(await schemas(), ['information_schema', 'public']);

    await inside('CREATE EXTENSION vector SCHEMA public');
    await t.notThrowsAsync(migrateAll([first, second], env, () => undefined));
  });

  test('an extension in a schema where units do not look is named, and nothing is migrated', async (t) => {
    const [first, second] = [schemaNamed('first'), schemaNamed('second', vector)];
    const { name, env, schemas, inside } = await installation(t, [first, second]);
    await inside(
      'CREATE SCHEMA extensions',
      'CREATE EXTENSION vector SCHEMA extensions',
      'GRANT USAGE ON SCHEMA extensions TO PUBLIC',
    );

    t.deepEqual(await refusal(t, [first, second], env), [
      'Nothing was migrated:',
      `the extension vector of ${name} is in the schema extensions, where units do not look for it. As a superuser: ALTER EXTENSION vector SET SCHEMA public.`,
    ]);
    t.deepEqual(await schemas(), ['extensions', 'information_schema', 'public']);

    await inside('ALTER EXTENSION vector SET SCHEMA public');
    await t.notThrowsAsync(migrateAll([first, second], env, () => undefined));
  });

  test('a second installation on the server, with a login of its own, is told whose roles it meets', async (t) => {
    const schema = schemaNamed('shared');
    const { tenant, shared } = rolesOf(schema.name);
    const [a, b] = [await installation(t, [schema]), await installation(t, [])];
    const fresh = schemaNamed('fresh');
    await migrateAll([schema], a.env, () => undefined);

    // Before PostgreSQL 16, a login with CREATEROLE may grant any role that is not a superuser.
    if ((await a.serverVersion()) >= 16) {
      t.deepEqual(await refusal(t, [fresh, schema], b.env), [
        'Nothing was migrated:',
        `${b.name} may not grant ${tenant}, ${shared}, which another installation on this server has made: roles belong to the server. Give each installation a server of its own, or the same login for migrations, or as a superuser GRANT ${tenant}, ${shared} TO the logins of both, and REVOKE CONNECT ON DATABASE of each FROM PUBLIC.`,
      ]);
      t.deepEqual(await b.schemas(), ['information_schema', 'public']);

      await b.asSuperuser(`GRANT ${tenant}, ${shared} TO ${b.name}`);
    }
    await t.notThrowsAsync(migrateAll([schema], b.env, () => undefined));
    await t.notThrowsAsync(migrateAll([schema], a.env, () => undefined));
  });

  test('all rights that are missing are named at once, each once', async (t) => {
    const { name, env, asSuperuser } = await installation(t, [], '');
    await asSuperuser(`ALTER DATABASE ${name} OWNER TO CURRENT_USER`);

    t.deepEqual(await refusal(t, [schemaNamed('one'), schemaNamed('two')], env), [
      'Nothing was migrated:',
      `${name} may not create schemas in the database ${name}. GRANT CREATE ON DATABASE ${name} TO ${name}.`,
      `${name} may not create roles. ALTER ROLE ${name} CREATEROLE.`,
    ]);
  });
});
