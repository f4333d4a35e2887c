import { canary, type Garden, key } from '../garden.ts';
import { changed, nowhere, planted } from '../planted.ts';

const databaseUrls = (garden: Garden, change: (url: URL) => void) => ({
  env: {
    DATABASE_URL: changed(garden.env.DATABASE_URL, change),
    MIGRATIONS_DATABASE_URL: changed(garden.env.MIGRATIONS_DATABASE_URL, change),
  },
});

export const postgresFaults = [
  planted(
    'a database host that is unknown',
    (garden) => databaseUrls(garden, (url) => Object.assign(url, { hostname: 'no-such-host.invalid' })),
    ['postgres.host'],
    /no-such-host.invalid:\d+ is unknown/u,
  ),
  planted(
    'a database server that is down, once for both logins',
    (garden) => databaseUrls(garden, (url) => Object.assign(url, { host: nowhere })),
    ['postgres.refused'],
    /nothing listens at 127.0.0.1:1/u,
  ),
  planted(
    'a wrong password of the database',
    (garden) => ({
      env: { DATABASE_URL: changed(garden.env.DATABASE_URL, (url) => Object.assign(url, { password: `${canary}2` })) },
    }),
    ['postgres.password'],
    /refuses the password of garden_\w+_app/u,
  ),
  planted(
    'a database that does not exist',
    (garden) => databaseUrls(garden, (url) => Object.assign(url, { pathname: '/none' })),
    ['postgres.database'],
    /there is no database .*none/u,
  ),
  planted(
    'TLS that the database server does not offer',
    (garden) => databaseUrls(garden, (url) => url.searchParams.set('sslmode', 'require')),
    ['postgres.tls'],
    /disagree about TLS/u,
  ),
  planted(
    'a database without pgvector',
    async (garden) => {
      await garden.asSuperuser('DROP EXTENSION vector');
      return { undo: () => garden.asSuperuser('CREATE EXTENSION vector') };
    },
    ['postgres.extension'],
    /does not have the extension vector/u,
  ),
  planted(
    'a pgvector in a schema where units do not look',
    async (garden) => {
      await garden.asSuperuser('CREATE SCHEMA extensions; ALTER EXTENSION vector SET SCHEMA extensions');
      return { undo: () => garden.asSuperuser('ALTER EXTENSION vector SET SCHEMA public; DROP SCHEMA extensions') };
    },
    ['postgres.extension'],
    /the extension vector of .* is in the schema extensions, where units do not look for it/u,
  ),
  planted(
    'roles that another installation on the server has made',
    async (garden) => {
      const name = `other_${garden.name}`;
      await garden.asSuperuser(`CREATE ROLE ${name}_tenant`);
      return {
        unit: { schema: { ...garden.unit.schema, name } },
        undo: () => garden.asSuperuser(`DROP ROLE ${name}_tenant`),
      };
    },
    ['postgres.migrations-rights'],
    /_owner may not grant roles of schemas that are missing, which another installation on this server has made: .*: other_garden_\w+_tenant/u,
  ),
  planted(
    'a pgvector that is too old',
    (garden) => ({ unit: { schema: { ...garden.unit.schema, extensions: { vector: '99.0.0' } } } }),
    ['postgres.extension'],
    /has pgvector \d/u,
  ),
  planted(
    'a server without an extension',
    (garden) => ({ unit: { schema: { ...garden.unit.schema, extensions: { topiary: '1.0' } } } }),
    ['postgres.extension'],
    /does not have topiary/u,
  ),
  planted(
    'a schema that is missing',
    (garden) => ({ unit: { schema: { ...garden.unit.schema, name: 'no_garden' } } }),
    ['postgres.schema'],
    /lacks schemas: no_garden/u,
  ),
  planted(
    'migrations that were not applied',
    (garden) => {
      const { schema } = garden.unit;
      return {
        unit: {
          schema: { ...schema, migrations: [...schema.migrations, { name: '002-weeds', up: async () => undefined }] },
        },
      };
    },
    ['postgres.migrations'],
    /lacks migrations: garden_\w+\/002-weeds/u,
  ),
  planted(
    'a login for migrations that may not make the schema',
    (garden) => ({
      env: { MIGRATIONS_DATABASE_URL: garden.env.DATABASE_URL },
      unit: { schema: { ...garden.unit.schema, name: 'no_garden' } },
    }),
    ['postgres.migrations-rights'],
    /_app may not create schemas .*: no_garden/u,
  ),
  planted(
    'a login for migrations that does not own the schema',
    (garden) => ({ env: { MIGRATIONS_DATABASE_URL: garden.env.DATABASE_URL } }),
    ['postgres.migrations-rights'],
    /_app does not own schemas .*: garden_\w+/u,
  ),
  planted(
    'a table whose tenants are not isolated',
    async (garden) => {
      await garden.asSuperuser(`ALTER TABLE ${garden.name}.plants NO FORCE ROW LEVEL SECURITY`);
      return { undo: () => garden.asSuperuser(`ALTER TABLE ${garden.name}.plants FORCE ROW LEVEL SECURITY`) };
    },
    ['postgres.isolation'],
    /plants is a tenant table whose row-level security is not forced/u,
  ),
  planted(
    'a login of the service that may not take the roles of its schema',
    async (garden) => {
      const { name } = garden;
      await garden.asSuperuser(`REVOKE ${name}_tenant FROM ${name}_app GRANTED BY ${name}_owner`);
      return { undo: () => garden.asSuperuser(`GRANT ${name}_tenant TO ${name}_app`) };
    },
    ['postgres.roles'],
    /_app may not take roles: garden_\w+_tenant$/u,
  ),
  planted(
    'a login of another installation that may take the roles of a schema, and connect',
    async (garden) => {
      const { name } = garden;
      await garden.asSuperuser(`CREATE ROLE ${name}_stranger LOGIN; GRANT ${name}_tenant TO ${name}_stranger`);
      return { undo: () => garden.asSuperuser(`DROP ROLE ${name}_stranger`) };
    },
    ['postgres.strangers'],
    /garden_\w+_stranger may connect to garden_\w+ and read what all tenants have in schemas: garden_\w+$/u,
  ),
  ...(
    [
      [
        'all rights of the roles of a schema, as after a restore without ACLs',
        ({ name }) => `ALL ON SCHEMA ${name}`,
        /roles .* lack rights: garden_\w+_shared USAGE on schema garden_\w+, garden_\w+_tenant USAGE on schema garden_\w+$/u,
      ],
      [
        'rights in a table',
        ({ name }) => `INSERT, DELETE ON ${name}.plants`,
        /roles .* lack rights: garden_\w+_tenant INSERT, DELETE on garden_\w+\.plants$/u,
      ],
      [
        'rights in all tables',
        ({ name }) => `SELECT ON ALL TABLES IN SCHEMA ${name}`,
        /_shared SELECT on garden_\w+\.gates, garden_\w+\.inbox, .*, garden_\w+_tenant SELECT on /u,
      ],
    ] as [string, (garden: Garden) => string, RegExp][]
  ).map(([what, rightsIn, words]) =>
    planted(
      `that roles lack ${what}`,
      async (garden) => {
        const roles = `${garden.name}_tenant, ${garden.name}_shared`;
        await garden.asSuperuser(`REVOKE ${rightsIn(garden)} FROM ${roles}`);
        return { undo: () => garden.migrate() };
      },
      ['postgres.grants'],
      words,
    ),
  ),
  ...(
    [
      ['a database', ({ name }) => `DATABASE ${name}`],
      ['a login', ({ name }) => `ROLE ${name}_app`],
      ['a login in one database', ({ name }) => `ROLE ${name}_app IN DATABASE ${name}`],
    ] as [string, (garden: Garden) => string][]
  ).map(([what, whereOf]) =>
    planted(
      `${what} whose transactions are read-only`,
      async (garden) => {
        const where = whereOf(garden);
        await garden.asSuperuser(`ALTER ${where} SET default_transaction_read_only = on`);
        return { undo: () => garden.asSuperuser(`ALTER ${where} RESET default_transaction_read_only`) };
      },
      ['postgres.read-only'],
      what === 'a database'
        ? /^transactions in .* are read-only/u
        : /^transactions of garden_\w+_app in .* are read-only/u,
    ),
  ),
  planted(
    'pools that are larger than the server has connections',
    () => ({ env: { DATABASE_POOL_SIZE: '1000' } }),
    ['postgres.connections'],
    /fewer than the 2000 that 2 processes take at most/u,
  ),
  ...(
    [
      [
        'a login without connections',
        'ROLE',
        0,
        ['postgres.login-connections'],
        /gives garden_\w+_app no more connections/u,
      ],
      [
        'a login with one connection',
        'ROLE',
        1,
        ['postgres.login-connections'],
        /_app at .* may have 1 connections, fewer than the 8/u,
      ],
      [
        'a login with few connections',
        'ROLE',
        7,
        ['postgres.login-connections'],
        /_app at .* may have 7 connections, fewer than the 8/u,
      ],
      [
        'a database with few connections',
        'DATABASE',
        7,
        ['postgres.database-connections'],
        /all of .* may have 7 connections/u,
      ],
      ['a database without connections', 'DATABASE', 0, ['postgres.database-connections'], /has no free connection/u],
    ] as const
  ).map(([what, kind, limit, checks, words]) =>
    planted(
      `${what} of its own`,
      async (garden) => {
        const whose = kind === 'ROLE' ? `ROLE ${garden.name}_app` : `DATABASE ${garden.name}`;
        await garden.asSuperuser(`ALTER ${whose} CONNECTION LIMIT ${limit}`);
        return { undo: () => garden.asSuperuser(`ALTER ${whose} CONNECTION LIMIT -1`) };
      },
      [...checks],
      words,
    ),
  ),
  planted(
    'keys that do not open what is stored',
    () => ({ env: { SECRETS_KEYS: key() } }),
    ['postgres.sealed'],
    /lacks a key of what is sealed: garden_\w+\.gates/u,
  ),
];
