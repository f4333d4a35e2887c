import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { eventually } from '@parley/chassis/testing/eventually';
import { schemas } from '@parley/local/schemas';
import { migrateAll } from '@parley/mesh/migrate-all';
import type { ExecutionContext } from 'ava';
import { Client } from 'pg';
import type { EngineName } from './engine.ts';
import { startServers } from './start-servers.ts';
import { serverTest } from './testing/server-test.ts';

async function started(t: ExecutionContext, engine: EngineName) {
  const servers = await startServers({ only: [engine] });
  t.teardown(() => servers.stop());
  t.deepEqual(servers.missing, []);
  return { ...servers, server: servers.server(engine) };
}

/** What a database answers to one statement. */
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

/** What Redis answers to these commands, one line each, sent over one connection with the login of that URL. */
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
  'the application owns its database, makes its schemas and roles, and is no superuser',
  async (t) => {
    const { env, superuserUrl } = await started(t, 'postgres');
    const output = { text: '', write: (text: string) => (output.text += text) };
    t.is(await migrateAll(schemas, env, { stdout: output, stderr: output }), 0, output.text);

    const facts = 'SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user';
    t.deepEqual(await query(env.DATABASE_URL, facts), [{ rolsuper: false, rolbypassrls: false }]);
    t.deepEqual(await query(superuserUrl, facts), [{ rolsuper: true, rolbypassrls: true }]);
    t.deepEqual(await query(env.DATABASE_URL, "SELECT '[1,2]'::halfvec <-> '[1,2]'::halfvec AS distance"), [
      { distance: 0 },
    ]);
  },
);

serverTest(
  ['postgres'],
  'PostgreSQL killed starts again where it was, with what was committed, for whoever has the password',
  async (t) => {
    const { env, server } = await started(t, 'postgres');
    await query(env.DATABASE_URL, 'CREATE TABLE kept AS SELECT 7 AS number');
    const guess = env.DATABASE_URL?.replace(/:[^:]*@/, ':guess@');
    await t.throwsAsync(query(guess, 'SELECT 1'), { message: /password authentication failed/ });
    await server.kill();
    t.is(server.pid(), undefined);
    await server.start();
    t.deepEqual(await query(env.DATABASE_URL, 'SELECT number FROM kept'), [{ number: 7 }]);
  },
);

serverTest(['redis'], 'Redis serves the keys of the application, and no other key or command', async (t) => {
  const { env } = await started(t, 'redis');
  const allowed = ['SET parley:a 1', 'EVAL "return 5" 0', 'XADD parley:s 1-1 a b', 'PUBLISH parley:c x'];
  t.deepEqual(await redisAnswers(env.REDIS_URL, allowed), ['+OK', ':5', '$3', '1-1', ':0']);

  const refused = ['SET other 1', 'PUBLISH other x', 'FLUSHALL', 'CONFIG GET dir', 'KEYS *'];
  for (const answer of await redisAnswers(env.REDIS_URL, refused)) t.regex(answer, /^-NOPERM/);

  const stranger = env.REDIS_URL?.replace(/:[^:]*@/, ':guess@');
  t.regex((await redisAnswers(stranger, ['GET parley:a']))[0] ?? '', /^-NOAUTH/);
});

serverTest(['redis'], 'Redis killed starts again with what it kept, and cleared with nothing', async (t) => {
  const { env, server } = await started(t, 'redis');
  const script = `EVAL "redis.call('SET', KEYS[1], 'a') redis.call('SET', KEYS[2], 'b') return 5" 2 parley:b parley:c`;
  await redisAnswers(env.REDIS_URL, ['SET parley:a kept', script]);
  await server.kill();
  await server.start();
  t.deepEqual(await redisAnswers(env.REDIS_URL, ['GET parley:a']), ['$4', 'kept']);
  t.deepEqual(await redisAnswers(env.REDIS_URL, ['GET parley:c']), ['$1', 'b'], 'what a script did in several steps');

  await server.kill();
  server.clear();
  await server.start();
  t.deepEqual(await redisAnswers(env.REDIS_URL, ['GET parley:a']), ['$-1']);
});

serverTest(['redis'], 'private servers are gone after stop, with all that they kept', async (t) => {
  const servers = await startServers({ only: ['redis'] });
  const { place, pid } = servers.server('redis');
  t.true(existsSync(place.home));
  const process = pid();
  await servers.stop();
  t.false(existsSync(place.home));
  t.false(existsSync(`/proc/${process}`));
});

serverTest(['kafka'], 'Kafka killed starts again on the same data', async (t) => {
  const { env, server } = await started(t, 'kafka');
  t.is(env.KAFKA_BROKERS, `127.0.0.1:${server.place.ports.main}`);
  const before = server.pid();
  await server.kill();
  await server.start();
  t.not(server.pid(), before);
  await server.stop();
  await eventually('it is gone', () => server.pid() === undefined);
});

serverTest(['s3'], 'the bucket keeps objects for whoever has the key', async (t) => {
  const { env } = await started(t, 's3');
  const { S3_ENDPOINT: endpoint = '', S3_REGION: region = '', S3_BUCKET: Bucket = '' } = env;
  const credentials = {
    accessKeyId: env.S3_ACCESS_KEY_ID ?? '',
    secretAccessKey: env.S3_SECRET_ACCESS_KEY ?? '',
  };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  t.teardown(() => client.destroy());
  await client.send(new PutObjectCommand({ Bucket, Key: 'a/b.txt', Body: 'hello' }));
  const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: 'a/b.txt' }));
  t.is(await Body?.transformToString(), 'hello');

  const { status } = await fetch(`${endpoint}/${Bucket}/a/b.txt`);
  t.is(status, 403);
});
