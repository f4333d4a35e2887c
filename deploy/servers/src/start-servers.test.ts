import { once } from 'node:events';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import type { EngineName } from './engine.ts';
import { type RunningServers, startServers } from './start-servers.ts';
import { serverTest } from './testing/server-test.ts';

/** Starts a server for one test and asserts with `isPrivate` that other users cannot access it. */
async function started(t: ExecutionContext, engine: EngineName, options: { durable?: boolean } = {}) {
  const servers = await startServers({ only: [engine], ...options });
  t.teardown(() => servers.stop());
  t.deepEqual(servers.missing, []);
  await isPrivate(t, servers, engine);
  return { ...servers, server: servers.server(engine) };
}

/**
 * Asserts that the server listens only on the loopback address, and that its passwords are neither on a command line nor in a file that
 * others can read.
 */
async function isPrivate(t: ExecutionContext, { server }: RunningServers, engine: EngineName): Promise<void> {
  const { pid, place } = server(engine);
  const socket = connect({ host: '127.0.0.2', port: place.ports.main });
  await t.throwsAsync(once(socket, 'connect'), { code: 'ECONNREFUSED' });
  const secrets = [place.password, place.superuserPassword];
  const isSecret = (text: string) => secrets.some((secret) => text.includes(secret));
  t.false(isSecret(readFileSync(`/proc/${pid()}/cmdline`, 'utf8')));
  const files = globSync('**/*', { cwd: dirname(place.home), withFileTypes: true }).filter((each) => each.isFile());
  const telling = files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => isSecret(readFileSync(file, 'latin1')));
  for (const file of telling) t.is(statSync(file).mode & 0o777, 0o600, file);
}

/** Runs one statement and returns its result. */
async function query(url: string | undefined, sql: string) {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Runs Redis commands over one connection with the login of the URL, and returns the responses, one line each. */
async function redisAnswers(url: string | undefined, commands: string[]): Promise<string[]> {
  const { port, username, password } = new URL(url ?? '');
  const socket = connect({ host: '127.0.0.1', port: Number(port) });
  let answers = '';
  socket.setEncoding('utf8').on('data', (text: string) => (answers += text));
  socket.write([`AUTH ${username} ${password}`, ...commands, 'QUIT', ''].join('\r\n'));
  await once(socket, 'close');
  return answers.trim().split('\r\n').slice(1, -1);
}

serverTest(
  ['postgres'],
  'a killed PostgreSQL restarts with what was committed, and asks for the password; the application is no superuser',
  async (t) => {
    const { env, superuserUrl, server, createDatabase } = await started(t, 'postgres');
    const other = await createDatabase('other');
    const facts = 'SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user';
    t.deepEqual(await query(env.DATABASE_URL, facts), [{ rolsuper: false, rolbypassrls: false }]);
    t.deepEqual(await query(superuserUrl, facts), [{ rolsuper: true, rolbypassrls: true }]);
    const distance = "SELECT '[1,2]'::halfvec <-> '[1,2]'::halfvec AS distance";
    t.deepEqual(await query(env.DATABASE_URL, distance), [{ distance: 0 }]);
    await query(env.DATABASE_URL, 'CREATE SCHEMA own; CREATE ROLE own; CREATE TABLE own.kept AS SELECT 7 AS number');
    // A second database has the extensions of the first one, but not its data.
    t.deepEqual(await query(other, distance), [{ distance: 0 }]);
    t.deepEqual(await query(other, "SELECT to_regclass('own.kept') AS kept"), [{ kept: null }]);
    for (const url of [env.DATABASE_URL, superuserUrl]) {
      const guess = url?.replace(/:[^:]*@/, ':guess@');
      await t.throwsAsync(query(guess, 'SELECT 1'), { message: /password authentication failed/ });
    }

    const before = server.pid();
    await server.kill();
    t.is(server.pid(), undefined);
    await server.start();
    t.not(server.pid(), before);
    t.deepEqual(await query(env.DATABASE_URL, 'SELECT number FROM own.kept'), [{ number: 7 }]);
  },
);

serverTest(['postgres'], 'a COMMIT waits for the disk only where it is measured', async (t) => {
  for (const durable of [false, true]) {
    const { superuserUrl } = await started(t, 'postgres', { durable });
    t.deepEqual(await query(superuserUrl, 'SHOW fsync'), [{ fsync: durable ? 'on' : 'off' }]);
  }
});

serverTest(
  ['redis'],
  'Redis serves the keys of the application and no other, and keeps them when it is killed',
  async (t) => {
    const { env, server, stop } = await started(t, 'redis');
    const script = `EVAL "redis.call('SET', KEYS[1], 'b') redis.call('SET', KEYS[2], 'c') return 5" 2 parley:b parley:c`;
    const allowed = ['SET parley:a kept', script, 'XADD parley:s 1-1 a b', 'PUBLISH parley:c x'];
    t.deepEqual(await redisAnswers(env.REDIS_URL, allowed), ['+OK', ':5', '$3', '1-1', ':0']);
    const refused = ['SET other 1', 'PUBLISH other x', 'FLUSHALL', 'CONFIG GET dir', 'KEYS *'];
    for (const answer of await redisAnswers(env.REDIS_URL, refused)) t.regex(answer, /^-NOPERM/);
    const stranger = env.REDIS_URL?.replace(/:[^:]*@/, ':guess@');
    t.regex((await redisAnswers(stranger, ['GET parley:a']))[0] ?? '', /^-NOAUTH/);

    await server.kill();
    await server.start();
    t.deepEqual(await redisAnswers(env.REDIS_URL, ['GET parley:a', 'GET parley:c']), ['$4', 'kept', '$1', 'c']);

    await server.stop();
    server.clear();
    await server.start();
    t.deepEqual(await redisAnswers(env.REDIS_URL, ['GET parley:a']), ['$-1']);

    const pid = server.pid();
    await stop();
    t.false(existsSync(dirname(server.place.home)));
    t.false(existsSync(`/proc/${pid}/exe`));
  },
);

serverTest(['s3'], 'the bucket exists and needs its key', async (t) => {
  const { env } = await started(t, 's3');
  const { status } = await fetch(`${env.S3_ENDPOINT}/${env.S3_BUCKET}/a.txt`);
  t.is(status, 403);
  const { S3Client, HeadBucketCommand } = await import('@aws-sdk/client-s3');
  const client = new S3Client({
    endpoint: env.S3_ENDPOINT ?? '',
    region: env.S3_REGION ?? '',
    forcePathStyle: true,
    credentials: { accessKeyId: env.S3_ACCESS_KEY_ID ?? '', secretAccessKey: env.S3_SECRET_ACCESS_KEY ?? '' },
  });
  t.teardown(() => client.destroy());
  const { $metadata } = await client.send(new HeadBucketCommand({ Bucket: env.S3_BUCKET }));
  t.is($metadata.httpStatusCode, 200);
});

const { TEST_KAFKA_BROKERS = '' } = process.env;
const kafkaTest = TEST_KAFKA_BROKERS || process.env.CI ? test : test.skip; // CI has every engine, so nothing is skipped there
kafkaTest('Kafka listens on the loopback address only', async (t) => {
  const port = Number(TEST_KAFKA_BROKERS.split(':')[1]);
  const here = connect({ host: '127.0.0.1', port });
  await once(here, 'connect');
  here.destroy();
  await t.throwsAsync(once(connect({ host: '127.0.0.2', port }), 'connect'), { code: 'ECONNREFUSED' });
});
