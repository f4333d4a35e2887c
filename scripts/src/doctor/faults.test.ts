import type { TopicDeclaration } from '@parley/events/topics';
import type { Environment } from '@parley/kernel/config';
import { leftOut } from '@parley/testing/left-out';
import type { ListedUnit } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import { diagnose } from './diagnose.ts';
import { exitCode, report } from './report.ts';
import { canary, type Garden, key, plantGarden } from './testing/garden.ts';
import { replacing, rewritingProxy, s3Proxy } from './testing/proxies.ts';

const engines = ['TEST_DATABASE_URL', 'TEST_REDIS_URL', 'TEST_KAFKA_BROKERS', 'TEST_S3_ENDPOINT'];
const missing = engines.filter((name) => !process.env[name]);
let garden: Garden;

/** What differs from a garden in which all is well. */
interface Fault {
  env?: Environment;
  unit?: Partial<ListedUnit>;
  now?: () => number;
  /** Puts in order again what was changed on an engine. */
  undo?: () => Promise<unknown>;
}

/** What is reported of the garden with this fault. */
async function examine(t: ExecutionContext, { env, unit, now = Date.now, undo }: Fault = {}) {
  const units = [{ ...garden.unit, ...unit }] as ListedUnit[];
  try {
    const outcomes = await diagnose({ env: { ...garden.env, ...env }, units, allUnits: units, now });
    const shown = JSON.stringify(outcomes) + report(outcomes);
    t.notRegex(shown, new RegExp(canary, 'u'));
    return { outcomes, findings: outcomes.filter(({ level }) => level !== 'ok') };
  } finally {
    await undo?.();
  }
}

/** Declares a test: with the fault, exactly these checks report something, one of them in these words. */
function finds(what: string, plant: (t: ExecutionContext) => Fault | Promise<Fault>, checks: string[], words: RegExp) {
  test.serial(`it finds ${what}`, async (t) => {
    const { findings } = await examine(t, await plant(t));
    t.deepEqual(
      findings.map(({ check }) => check),
      checks,
      report(findings),
    );
    t.true(
      findings.some(({ found }) => words.test(found)),
      report(findings),
    );
    for (const { change } of findings) t.regex(change, /\w{3}/u);
  });
}

const changed = (url = '', change: (url: URL) => void) => {
  const copy = new URL(url);
  change(copy);
  return copy.href;
};
/** Nothing listens there. */
const nowhere = '127.0.0.1:1';
const databaseUrls = (change: (url: URL) => void) => ({
  env: {
    DATABASE_URL: changed(garden.env.DATABASE_URL, change),
    MIGRATIONS_DATABASE_URL: changed(garden.env.MIGRATIONS_DATABASE_URL, change),
  },
});
const redisBehind = async (t: ExecutionContext, how: Parameters<typeof rewritingProxy>[2]): Promise<Fault> => {
  const proxy = await rewritingProxy(t, new URL(garden.env.REDIS_URL ?? '').host, how);
  return { env: { REDIS_URL: changed(garden.env.REDIS_URL, (url) => Object.assign(url, { host: proxy })) } };
};
const s3Behind = async (t: ExecutionContext, how: Parameters<typeof s3Proxy>[2], setting = 'S3_ENDPOINT') => ({
  env: { [setting]: await s3Proxy(t, garden.env.S3_ENDPOINT ?? '', how) },
});
const topic = (change: Partial<TopicDeclaration>): Fault => ({ unit: { publishes: [{ ...garden.topic, ...change }] } });

function declareTests() {
  test.before(async () => {
    garden = await plantGarden();
  });
  test.after.always(() => garden?.remove());

  test.serial('where all is well it has no finding, and says what it has looked at', async (t) => {
    const { outcomes, findings } = await examine(t);
    t.deepEqual(findings, []);
    t.is(exitCode(outcomes), 0);
    const groups = new Set(outcomes.map(({ check }) => check.replace(/\..*/u, '')));
    t.deepEqual([...groups], ['settings', 'postgres', 'redis', 'kafka', 's3', 'mail', 'addresses']);
  });

  test.serial('a login that does not own the schema is good enough for the service', async (t) => {
    t.deepEqual((await examine(t, { env: { MIGRATIONS_DATABASE_URL: '' } })).findings, []);
  });

  finds(
    'a key that is missing',
    () => ({ env: { SECRETS_KEYS: '' } }),
    ['settings.missing'],
    /SECRETS_KEYS is missing/u,
  );
  finds('a misspelt setting', () => ({ env: { DATABASE_POOLSIZE: '3' } }), ['settings.unknown'], /DATABASE_POOLSIZE/u);

  finds(
    'a database host that is unknown',
    () => databaseUrls((url) => Object.assign(url, { hostname: 'no-such-host.invalid' })),
    ['postgres.host'],
    /no-such-host.invalid:\d+ is unknown/u,
  );
  finds(
    'a database server that is down, once for both logins',
    () => databaseUrls((url) => Object.assign(url, { host: nowhere })),
    ['postgres.refused'],
    /nothing listens at 127.0.0.1:1/u,
  );
  finds(
    'a wrong password of the database',
    () => ({
      env: { DATABASE_URL: changed(garden.env.DATABASE_URL, (url) => Object.assign(url, { password: `${canary}2` })) },
    }),
    ['postgres.password'],
    /refuses the password of garden_\w+_app/u,
  );
  finds(
    'a database that does not exist',
    () => databaseUrls((url) => Object.assign(url, { pathname: '/none' })),
    ['postgres.database'],
    /there is no database .*none/u,
  );
  finds(
    'TLS that the database server does not offer',
    () => databaseUrls((url) => url.searchParams.set('sslmode', 'require')),
    ['postgres.tls'],
    /disagree about TLS/u,
  );
  finds(
    'a database without pgvector',
    async () => {
      await garden.asSuperuser('DROP EXTENSION vector');
      return { undo: () => garden.asSuperuser('CREATE EXTENSION vector') };
    },
    ['postgres.extension'],
    /does not have the extension vector/u,
  );
  finds(
    'a pgvector that is too old',
    () => ({ unit: { schema: { ...garden.unit.schema, extensions: { vector: '99.0.0' } } } }),
    ['postgres.extension'],
    /has pgvector \d/u,
  );
  finds(
    'a server without an extension',
    () => ({ unit: { schema: { ...garden.unit.schema, extensions: { topiary: '1.0' } } } }),
    ['postgres.extension'],
    /does not have topiary/u,
  );
  finds(
    'a schema that is missing',
    () => ({ unit: { schema: { ...garden.unit.schema, name: 'no_garden' } } }),
    ['postgres.schema'],
    /has no schema no_garden/u,
  );
  finds(
    'migrations that were not applied',
    () => {
      const { schema } = garden.unit;
      return {
        unit: {
          schema: { ...schema, migrations: [...schema.migrations, { name: '002-weeds', up: async () => undefined }] },
        },
      };
    },
    ['postgres.migrations'],
    /lacks migrations: 002-weeds/u,
  );
  finds(
    'a login for migrations that may not make the schema',
    () => ({
      env: { MIGRATIONS_DATABASE_URL: garden.env.DATABASE_URL },
      unit: { schema: { ...garden.unit.schema, name: 'no_garden' } },
    }),
    ['postgres.migrations-rights'],
    /_app may not create the schema/u,
  );
  finds(
    'a login for migrations that does not own the schema',
    () => ({ env: { MIGRATIONS_DATABASE_URL: garden.env.DATABASE_URL } }),
    ['postgres.migrations-rights'],
    /_app does not own the schema/u,
  );
  finds(
    'a table whose tenants are not isolated',
    async () => {
      await garden.asSuperuser(`ALTER TABLE ${garden.name}.plants NO FORCE ROW LEVEL SECURITY`);
      return { undo: () => garden.asSuperuser(`ALTER TABLE ${garden.name}.plants FORCE ROW LEVEL SECURITY`) };
    },
    ['postgres.isolation'],
    /plants is a tenant table whose row-level security is not forced/u,
  );
  finds(
    'a login of the service that may not take the roles of its schema',
    async () => {
      const { name } = garden;
      await garden.asSuperuser(`REVOKE ${name}_tenant FROM ${name}_app GRANTED BY ${name}_owner`);
      return { undo: () => garden.asSuperuser(`GRANT ${name}_tenant TO ${name}_app`) };
    },
    ['postgres.roles'],
    /_app may not take the roles garden_\w+_tenant$/u,
  );
  finds(
    'pools that are larger than the server has connections',
    () => ({ env: { DATABASE_POOL_SIZE: '1000' } }),
    ['postgres.connections'],
    /fewer than 2 processes with 1000/u,
  );
  finds(
    'keys that do not open what is stored',
    () => ({ env: { SECRETS_KEYS: key() } }),
    ['postgres.sealed'],
    /lacks a key of what is sealed in garden_\w+\.gates/u,
  );

  finds(
    'a Redis that is down',
    () => ({ env: { REDIS_URL: `redis://:${canary}@${nowhere}` } }),
    ['redis.refused'],
    /nothing listens/u,
  );
  finds(
    'a wrong password of Redis',
    () => ({ env: { REDIS_URL: changed(garden.env.REDIS_URL, (url) => Object.assign(url, { password: canary })) } }),
    ['redis.password'],
    /refuses the login/u,
  );
  finds(
    'an old Redis',
    (t) => redisBehind(t, { answers: (bytes) => Buffer.from(String(bytes).replace(/(?<=redis_version:)\d/u, '6')) }),
    ['redis.version'],
    /is Redis 6\./u,
  );
  finds(
    'a Redis that drops keys',
    (t) => redisBehind(t, { answers: replacing('maxmemory_policy:noeviction', 'maxmemory_policy:allkeys-xx') }),
    ['redis.eviction'],
    /drops keys/u,
  );
  finds(
    'a Redis that is a replica',
    (t) => redisBehind(t, { answers: replacing('role:master', 'role:slave ') }),
    ['redis.replica'],
    /is a replica/u,
  );
  finds(
    'a login of Redis that may run no script',
    (t) => redisBehind(t, { inPlace: (said) => (said.includes('EVAL') ? '-NOPERM no scripts\r\n' : undefined) }),
    ['redis.rights'],
    /may not: EVALSHA, EVAL$/u,
  );

  finds(
    'brokers of which none answers',
    () => ({ env: { KAFKA_BROKERS: nowhere } }),
    ['kafka.refused'],
    /nothing listens/u,
  );
  finds(
    'a broker that advertises an address that cannot be reached',
    async (t) => {
      const [broker = ''] = garden.brokers;
      const port = Buffer.alloc(4);
      port.writeInt32BE(Number(broker.split(':')[1]));
      const host = '127.0.0.1';
      const proxy = await rewritingProxy(t, broker, {
        answers: replacing(host + port.toString('latin1'), `${host}\0\0\0\x01`),
      });
      return { env: { KAFKA_BROKERS: proxy } };
    },
    ['kafka.advertised'],
    /tell clients to use 127.0.0.1:1, which cannot be reached/u,
  );
  finds(
    'a topic that is missing',
    () => topic({ name: 'no-garden' }),
    ['kafka.topics'],
    /no-garden, no-garden.dead-letter/u,
  );
  finds(
    'a topic with too few partitions',
    () => topic({ partitions: 12 }),
    ['kafka.partitions'],
    /3 partitions, and 12 /u,
  );
  finds(
    'a topic with another retention',
    () => topic({ retentionMs: 60_000 }),
    ['kafka.retention'],
    /60000 are declared/u,
  );

  finds(
    'an S3 service that is down',
    () => ({ env: { S3_ENDPOINT: `http://${nowhere}` } }),
    ['s3.refused'],
    /nothing listens/u,
  );
  finds('a bucket that is missing', () => ({ env: { S3_BUCKET: 'no-garden' } }), ['s3.bucket'], /no bucket no-garden/u);
  finds('a wrong access key', () => ({ env: { S3_ACCESS_KEY_ID: 'nobody' } }), ['s3.access-key'], /is unknown/u);
  finds('a wrong secret', () => ({ env: { S3_SECRET_ACCESS_KEY: canary } }), ['s3.secret'], /not that of/u);
  for (const [right, method, path] of [
    ['write', 'PUT', '/parley-doctor/'],
    ['read', 'HEAD', '/parley-doctor/'],
    ['list', 'GET', 'list-type'],
    ['delete', 'DELETE', '/parley-doctor/'],
  ] as const) {
    finds(
      `a login of S3 that may not ${right}`,
      async (t) => ({
        ...(await s3Behind(t, { refuses: ({ method: used, url = '' }) => used === method && url.includes(path) })),
        undo: () => garden.bucket.empty(),
      }),
      ['s3.rights'],
      new RegExp(`may not ${right} in`, 'u'),
    );
  }
  finds(
    'a bucket whose CORS does not allow an origin',
    () => ({ env: { CORS_ORIGINS: `${garden.bucket.origin},https://other.example` } }),
    ['s3.cors'],
    /does not allow PUT by pages of https:\/\/other.example, GET by/u,
  );
  finds(
    'a public endpoint that is down',
    () => ({ env: { S3_PUBLIC_ENDPOINT: `http://${nowhere}` } }),
    ['s3.public-endpoint'],
    /nothing listens/u,
  );
  finds(
    'a public endpoint that changes what was signed',
    (t) => s3Behind(t, { changesHost: true }, 'S3_PUBLIC_ENDPOINT'),
    ['s3.public-signature'],
    /are answered 403/u,
  );

  finds(
    'a mail server that is down',
    () => ({ env: { SMTP_URL: `smtp://me:${canary}@${nowhere}` } }),
    ['mail.refused'],
    /nothing listens/u,
  );
  finds(
    'a wrong password of the mail server',
    () => ({ env: { SMTP_URL: garden.env.SMTP_URL?.replace(canary, `${canary}2`) } }),
    ['mail.password'],
    /refuses the login/u,
  );
  finds(
    'a model whose host is unknown',
    () => ({ env: { [garden.modelUrl]: 'https://no-such-host.invalid/v1' } }),
    ['addresses.host'],
    /no-such-host.invalid:443 is unknown/u,
  );
  finds(
    'a collector of traces that is down',
    () => ({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${nowhere}` } }),
    ['addresses.refused'],
    /nothing listens/u,
  );
  finds(
    'clocks that differ',
    () => ({ now: () => Date.now() + 60_000 }),
    ['postgres.clock', 'redis.clock', 's3.clock'],
    /(?:59|60) s behind this machine's/u,
  );
}

if (missing.length === 0) declareTests();
else leftOut(`doctor - left out: no ${missing.join(', ')}`);
