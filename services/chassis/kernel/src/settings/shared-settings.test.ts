import test from 'ava';
import { readSettings, SettingsError } from './config.ts';
import { databaseSettings, eventSettings, fileSettings, outboundSettings, processSettings } from './shared-settings.ts';

const bucket = {
  S3_ENDPOINT: 'https://s3.example.com',
  S3_BUCKET: 'parley',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
};
const readS3 = (env: Record<string, string>) => readSettings(env, fileSettings).s3;

test('a bucket needs its endpoint, its name and its keys; the rest has defaults', (t) => {
  t.like(readS3(bucket), { endpoint: 'https://s3.example.com', region: 'us-east-1', publicEndpoint: undefined });
  const error = t.throws(() => readS3({ S3_ENDPOINT: 'there', S3_PUBLIC_ENDPOINT: 'here' }));
  t.true(error instanceof SettingsError);
  for (const name of ['S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']) {
    t.true(error?.message.includes(`${name}: `), name);
  }
});

test('without an endpoint there is no bucket, and in production that is an error', (t) => {
  const production = { NODE_ENV: 'production' };
  t.is(readS3({}), undefined);
  t.throws(() => readS3(production), { message: /S3_ENDPOINT: is missing, and NODE_ENV is production$/u });
  t.truthy(readS3({ ...production, ...bucket }));
});

test('an S3 endpoint with a user or password in it is an error that does not repeat it', (t) => {
  for (const name of ['S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT']) {
    const { message } = t.throws(() => readS3({ ...bucket, [name]: 'https://me:hidden@s3.example.com' }));
    t.true(message.includes(`${name}: has a user or password`), message);
    t.false(message.includes('hidden'));
  }
});

test('a URL whose password is not percent-encoded is an error that does not repeat it', (t) => {
  const { redisUrl } = processSettings;
  const { own } = databaseSettings('agent');
  const url = (from: string, password: string) => `${from}://me:${password}@host/1`;
  for (const password of ['1234/hidden', '1234?hidden', '1234#hidden', 'x@1234/hidden', '1234?hidden=it']) {
    const env = { REDIS_URL: url('redis', password), AGENT_DATABASE_URL: url('postgres', password) };
    const { message } = t.throws(() => readSettings(env, { redisUrl, own }), undefined, password);
    for (const name of Object.keys(env)) t.true(message.includes(`${name}: has an @ behind its host`), message);
    t.notRegex(message, /hidden|1234/u);
  }
  for (const right of ['postgres://h/p?sslmode=require', 'postgres://me:p%2Fa%40b@h/p', 'postgres://me:p@a@h/p'])
    t.is(readSettings({ AGENT_DATABASE_URL: right }, own).url, right);
});

test('a password with a character that ends the host is an error that says what to escape', (t) => {
  const { redisUrl } = processSettings;
  const { own } = databaseSettings('agent');
  for (const password of ['p:w/hidden', 'p:w?hidden', 'p:w#hidden', 'ha/hidden', 'ha#hidden', 'ha?hidden']) {
    const env = {
      REDIS_URL: `redis://u:${password}@127.0.0.1:6379`,
      AGENT_DATABASE_URL: `postgres://parley:${password}@127.0.0.1:5432/parley`,
    };
    const { message } = t.throws(() => readSettings(env, { redisUrl, own }), undefined, password);
    for (const name of Object.keys(env)) {
      t.regex(message, new RegExp(`${name}: .*in a password / is written %2F, \\? %3F, # %23`, 'u'), message);
    }
    t.notRegex(message, /hidden|p:w/u);
  }
  t.throws(() => readSettings({ AGENT_DATABASE_URL: 'mysql://a:b@c/d' }, own), {
    message: /is not a postgres:\/\/ URL$/u,
  });
});

test('a Redis URL that the client cannot read is an error with its name', (t) => {
  const { redisUrl } = processSettings;
  const read = (REDIS_URL: string) => readSettings({ REDIS_URL }, { redisUrl }).redisUrl;
  for (const right of ['redis://h', 'redis://u:p%25@h:6379/', 'rediss://:p@h:6379/3']) t.is(read(right), right);
  t.throws(() => read('redis://u:p%zz@h'), {
    message: /REDIS_URL: has a % in user or password, which is written %25$/u,
  });
  t.throws(() => read('redis://h/abc'), { message: /REDIS_URL: has a path, which is no number of a database$/u });
  t.throws(() => read('there'), { message: /REDIS_URL: is not a redis or rediss URL$/u });
});

test('a Kafka login is optional, and needs both name and password', (t) => {
  const { kafka } = eventSettings;
  const given = { KAFKA_BROKERS: 'k:9093', KAFKA_TLS: 'true', KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512' };
  const login = { KAFKA_USERNAME: 'parley', KAFKA_PASSWORD: 'hidden' };
  t.like(readSettings({ ...given, ...login }, { kafka }).kafka, {
    tls: true,
    login: { mechanism: 'scram-sha-512', username: 'parley', password: 'hidden' },
  });
  t.like(readSettings({ KAFKA_BROKERS: 'k:9092' }, { kafka }).kafka, { tls: false, login: undefined });
  t.throws(() => readSettings(given, { kafka }), {
    message: /KAFKA_USERNAME: is missing, and KAFKA_SASL_MECHANISM is set\n +KAFKA_PASSWORD: is missing/u,
  });
  t.throws(() => readSettings({ KAFKA_BROKERS: 'k:9092', ...login }, { kafka }), {
    message: /KAFKA_SASL_MECHANISM: is missing, and KAFKA_USERNAME is set$/u,
  });
  const plain = { ...given, ...login, KAFKA_SASL_MECHANISM: 'plain' };
  t.like(readSettings(plain, { kafka }).kafka.login, { mechanism: 'plain' });
  for (const KAFKA_TLS of ['false', '']) {
    t.throws(() => readSettings({ ...plain, KAFKA_TLS }, { kafka }), {
      message: /^These settings are wrong:\n {2}KAFKA_SASL_MECHANISM: plain takes KAFKA_TLS=true$/u,
    });
  }
  const { message } = t.throws(() => readSettings({ ...given, ...login, KAFKA_SASL_MECHANISM: 'gssapi' }, { kafka }));
  t.regex(message, /KAFKA_SASL_MECHANISM: gssapi is none of plain, scram-sha-256 and scram-sha-512$/u);
});

test('a PostgreSQL whose certificate would not be verified by sslmode=require is an error', (t) => {
  const { url } = databaseSettings('notes').shared;
  const read = (DATABASE_URL: string) => readSettings({ DATABASE_URL }, { url }).url;
  t.notThrows(() => read('postgres://h/d?sslmode=require'));
  t.throws(() => read('postgres://h/d?uselibpqcompat=true&sslmode=require'), { message: /has uselibpqcompat/u });
});

test('an sslmode that the driver does not know is an error', (t) => {
  const { url } = databaseSettings('notes').shared;
  const read = (mode: string) => readSettings({ DATABASE_URL: `postgres://h/d?sslmode=${mode}` }, { url }).url;
  for (const mode of ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify'])
    t.notThrows(() => read(mode), mode);
  for (const mode of ['nonsense', 'prefer', 'allow', '', 'Require']) {
    t.throws(() => read(mode), {
      message: /DATABASE_URL: has another sslmode than disable, require, verify-ca, verify-full and no-verify$/u,
    });
  }
});

test('a PostgreSQL URL that the driver cannot decode is an error', (t) => {
  const { url } = databaseSettings('notes').shared;
  const read = (DATABASE_URL: string) => readSettings({ DATABASE_URL }, { url }).url;
  for (const right of ['postgres://me:p%25e9x@h/d', 'postgres://me:p%C3%A9x@h/d']) t.is(read(right), right);
  for (const wrong of [
    'postgres://me:p%e9x@h/d',
    'postgres://m%e9:p@h/d',
    'postgres://h/d%e9',
    'postgres://me:%@h/d',
  ]) {
    const { message } = t.throws(() => read(wrong), undefined, wrong);
    t.regex(message, /DATABASE_URL: has a % that begins no encoded character; % itself is written %25$/u);
  }
});

test('a PostgreSQL parameter that the driver reads in another way than the check is an error that names it', (t) => {
  const { url } = databaseSettings('notes').shared;
  const read = (search: string) => readSettings({ DATABASE_URL: `postgres://h/d?${search}` }, { url }).url;
  const right = ['ssl=true', 'ssl=1', 'ssl=0', 'ssl=no-verify', 'sslmode=require&channel_binding=require'];
  for (const search of [...right, 'pgbouncer=true', 'uselibpqcompat=false', 'host=/tmp&sslmode=disable'])
    t.notThrows(() => read(search), search);
  for (const [search, problem] of [
    ['sslmode=verify-full&sslmode=disable', 'has sslmode more than once'],
    ['sslmode=verify-full&ss%6cmode=disable', 'has sslmode more than once'],
    ['uselibpqcompat=false&uselibpqcompat=true&sslmode=require', 'has uselibpqcompat more than once'],
    ['host=a&host=b', 'has host more than once'],
    ['SSLMODE=nonsense', 'has sslmode with capital letters, which the driver ignores'],
    ['sslmode=disable&SslMode=verify-full', 'has sslmode with capital letters, which the driver ignores'],
    ['ssl=nonsense', 'has another ssl than true, 1, 0 and no-verify'],
    ['ssl=false', 'has another ssl than true, 1, 0 and no-verify'],
    ['ssl=', 'has another ssl than true, 1, 0 and no-verify'],
    ['ssl=true&sslmode=disable', 'has both ssl and sslmode'],
  ] as const) {
    const { message } = t.throws(() => read(search), undefined, search);
    t.is(message.split('DATABASE_URL: ')[1], problem, search);
  }
});

test('a misspelt production is an error, rather than development', (t) => {
  const { nodeEnv } = processSettings;
  const read = (NODE_ENV?: string) => readSettings({ NODE_ENV }, { nodeEnv }).nodeEnv;
  for (const each of ['production', 'development', 'test', undefined] as const) t.is(read(each), each);
  for (const each of ['Production', 'prod', ' production']) {
    t.throws(() => read(each), { message: /NODE_ENV: is none of production, development and test$/u }, each);
  }
});

test('the allowlist of tenants has host names, addresses and CIDRs, and ports or ranges', (t) => {
  const read = (env: Record<string, string>) => readSettings(env, outboundSettings);
  t.deepEqual(read({}), { allowlist: [], ports: ['80', '443', '8080', '8443'] });
  t.deepEqual(read({ OUTBOUND_ALLOWLIST: 'Mcp.Internal, 10.0.0.0/8,::1,localhost', OUTBOUND_PORTS: '443,8000-8999' }), {
    allowlist: ['mcp.internal', '10.0.0.0/8', '::1', 'localhost'],
    ports: ['443', '8000-8999'],
  });
  for (const wrong of ['10.0.0.0/33', '10.1', '127.1', 'http://a', 'a:80', '*.internal', 'a..b', '-a', 'a/8'])
    t.throws(() => read({ OUTBOUND_ALLOWLIST: wrong }), { message: /OUTBOUND_ALLOWLIST: is not a list of/u }, wrong);
  for (const wrong of [',', '0', '65536', '90-80', '1-2-3', '-1', '80 443', 'http'])
    t.throws(() => read({ OUTBOUND_PORTS: wrong }), { message: /OUTBOUND_PORTS: is not a list of/u }, wrong);
});
