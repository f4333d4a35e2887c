import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, watch, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually } from '@parley/testing/eventually';
import { databaseSnapshot } from '@parley/testing/test-database';
import test, { type ExecutionContext } from 'ava';
import knexFactory, { type Knex } from 'knex';
import { Client } from 'pg';
import { type EmbeddedDatabase, startEmbeddedDatabase } from '../src/embedded.ts';
import { lockFolder } from '../src/embedded-lock.ts';

/*
 * Tests of behaviour that only the embedded database has; database-contract.test.ts tests the behaviour of every PostgreSQL. Tests that
 * start their own database run one at a time, because each database takes about 400 MB.
 */

let started: Promise<EmbeddedDatabase> | undefined;

function shared(): Promise<EmbeddedDatabase> {
  return (started ??= startEmbeddedDatabase({ folder: null, snapshot: databaseSnapshot() }));
}

test.serial(
  'stop closes connections and rolls back their transactions; committed data is there after a restart',
  async (t) => {
    const folder = temporaryFolder(t);
    const first = await start(t, { folder });
    const pool = poolOf(t, first);
    await pool.raw('CREATE TABLE kept (word text)');
    await pool.raw('INSERT INTO kept VALUES (?)', ['here']);
    const transaction = await pool.transaction();
    await transaction.raw('INSERT INTO kept VALUES (?)', ['begun']);
    await first.stop();
    await t.throwsAsync(Promise.resolve(transaction.raw('SELECT 1')));
    await transaction.rollback();
    t.false(existsSync(join(folder, 'lock')));
    t.false(existsSync(socketFolderOf(first)));

    const second = await start(t, { folder });
    t.deepEqual((await poolOf(t, second).raw('SELECT word FROM kept')).rows, [{ word: 'here' }]);
  },
);

test.serial('every acknowledged commit survives a kill, and no other process gets the folder before', async (t) => {
  const folder = temporaryFolder(t);
  const acknowledged: number[] = [];
  for (const rounds of [30, 200]) {
    const child = inChild(t, 'write', folder);
    let seen = 0;
    for await (const line of child.lines) {
      acknowledged.push(Number(line));
      seen += 1;
      if (seen === 1) {
        const error = await t.throwsAsync(startEmbeddedDatabase({ folder }));
        t.true(error.message.includes(folder));
        t.true(error.message.includes(`process ${child.process.pid}`));
      }
      // Output that the child wrote before its death still arrives after this kill.
      if (seen === rounds) child.process.kill('SIGKILL');
    }
    await child.ended;
  }
  t.true(acknowledged.length >= 230);
  const socketFolder: string = JSON.parse(readFileSync(join(folder, 'lock'), 'utf8')).socketFolder;
  t.true(existsSync(socketFolder));

  const database = await start(t, { folder });
  t.false(existsSync(socketFolder), "the killed process's socket is cleared away");
  const { rows } = await poolOf(t, database).raw('SELECT id FROM written');
  const found = new Set(rows.map(({ id }: { id: number }) => id));
  t.deepEqual(
    acknowledged.filter((id) => !found.has(id)),
    [],
  );
});

test.serial('a first start that was killed is repeated', async (t) => {
  const folder = temporaryFolder(t);
  const unfinished = join(folder, 'unfinished');
  const appeared = new Promise<void>((resolve) => {
    const watcher = watch(folder, () => {
      if (!existsSync(unfinished)) return;
      watcher.close();
      resolve();
    });
  });
  const child = inChild(t, 'hold', folder);
  await appeared;
  child.process.kill('SIGKILL');
  await child.ended;
  t.true(existsSync(unfinished));

  const database = await start(t, { folder });
  t.deepEqual((await poolOf(t, database).raw('SELECT 1 AS one')).rows, [{ one: 1 }]);
  t.false(existsSync(unfinished));
});

test.serial(
  'of many processes that find the same dead lock, one takes it over and the others name that one',
  async (t) => {
    const folder = temporaryFolder(t);
    // The second lock, which guards the removal of the first one, also belongs to a dead process.
    const dead = { pid: process.pid, startedAt: 'long ago', socketFolder: '' };
    writeFileSync(join(folder, 'lock'), JSON.stringify({ ...dead, claim: 'first' }));
    writeFileSync(join(folder, 'lock.first'), JSON.stringify({ ...dead, claim: 'second' }));

    const children = Array.from({ length: 6 }, () => inChild(t, 'lock', folder));
    await Promise.all(children.map(({ lines }) => once(lines, 'line')));
    const answers = Promise.all(children.map(async ({ lines }) => String((await once(lines, 'line'))[0])));
    for (const { process: child } of children) child.stdin?.write('go\n');

    const said = await answers;
    const winner = children[said.indexOf('taken')]?.process.pid;
    t.is(said.filter((answer) => answer === 'taken').length, 1, said.join('\n'));
    t.is(JSON.parse(readFileSync(join(folder, 'lock'), 'utf8')).pid, winner);
    t.is(said.filter((answer) => answer.includes(`${folder} is in use by process`)).length, 5, said.join('\n'));
  },
);

test.serial('no other user can connect, and a second start in the same process does not get the folder', async (t) => {
  const folder = join(temporaryFolder(t), 'made');
  const database = await start(t, { folder });
  t.is(statSync(socketFolderOf(database)).mode & 0o777, 0o700);
  t.is(statSync(folder).mode & 0o777, 0o700);
  const error = await t.throwsAsync(startEmbeddedDatabase({ folder: join(folder, '.') }));
  t.true(error.message.includes(folder));
  t.true(error.message.includes(`this process (${process.pid})`));
  t.deepEqual((await poolOf(t, database).raw('SELECT 1 AS one')).rows, [{ one: 1 }]);
});

test.serial('an idle transaction is ended, so that others can continue', async (t) => {
  const database = await start(t, { idleInTransactionTimeoutMs: 200 });
  const pool = poolOf(t, database);
  await pool.raw('CREATE TABLE forgotten (id integer)');
  const transaction = await pool.transaction();
  await transaction.raw('INSERT INTO forgotten VALUES (?)', [1]);
  t.deepEqual((await pool.raw('SELECT * FROM forgotten WHERE id > ?', [0])).rows, []);
  await t.throwsAsync(Promise.resolve(transaction.raw('SELECT 1')));
  await transaction.rollback();
});

test("a pipeline that arrives in parts is not mixed with other clients' statements", async (t) => {
  const database = await shared();
  const pool = poolOf(t, database);
  const client = await rawClient(t, database);
  const pipeline = Buffer.concat([
    message('P', `\0SELECT 'mine' || $1\0\0\0`),
    message('B', `\0\0\0\0\0\x01\0\0\0\x02!!\0\0`),
    message('E', '\0\0\0\0\0'),
    message('S', ''),
  ]);
  for (const byte of pipeline) {
    client.send(Buffer.of(byte));
    t.deepEqual((await pool.raw('SELECT ? || ? AS word', ['the', 'irs'])).rows, [{ word: 'theirs' }]);
  }
  t.true((await client.answer(READY)).includes('mine!!'));
});

test('a pipeline without Sync is rolled back when its client disconnects', async (t) => {
  const database = await shared();
  const pool = poolOf(t, database);
  await pool.raw('CREATE TABLE flushed (id integer)');
  const client = await rawClient(t, database);
  client.send(
    Buffer.concat([
      message('P', '\0INSERT INTO flushed VALUES (1)\0\0\0'),
      message('B', '\0\0\0\0\0\0\0\0'),
      message('E', '\0\0\0\0\0'),
      message('H', ''),
    ]),
  );
  await client.answer('INSERT 0 1\0');
  client.end();
  t.deepEqual((await pool.raw('SELECT * FROM flushed WHERE id > ?', [0])).rows, []);
});

test('each connection has prepared statements of its own, of any name and text', async (t) => {
  const { url } = await shared();
  const connections = await Promise.all([1, 2, 3].map(() => connected(t, url)));
  const [first, second, third] = connections as [Client, Client, Client];
  const ask = async (client: Client, name: string, text: string, value: unknown) =>
    (await client.query({ name, text, values: [value] })).rows[0];
  for (let n = 0; n < 2; n += 1) {
    t.deepEqual(await ask(first, 'same', 'SELECT $1::int AS n', n), { n });
    t.deepEqual(await ask(second, 'same', 'SELECT $1::int AS n', n), { n });
    t.deepEqual(await ask(third, 'same', 'SELECT $1::text AS word', `${n}`), { word: `${n}` });
    t.deepEqual(await ask(third, 'other', 'SELECT $1::int AS n', n), { n });
  }
  await t.throwsAsync(ask(first, 'wrong', 'SELECT $1::int AS n FROM nowhere', 1), { message: /nowhere/ });
  await t.throwsAsync(ask(second, 'wrong', 'SELECT $1::int AS n FROM nowhere', 1), { message: /nowhere/ });
  await first.end();
  t.deepEqual(await ask(second, 'same', 'SELECT $1::int AS n', 7), { n: 7 });
  const { rows } = await second.query(
    "SELECT count(*)::int AS count FROM pg_prepared_statements WHERE statement = 'SELECT $1::int AS n'",
  );
  t.deepEqual(rows, [{ count: 2 }], 'one for those of the same name, one for the other');
});

test('statements of ended connections are closed, except the most recently used ones', async (t) => {
  const { url } = await shared();
  const last = await connected(t, url);
  const ended = await connected(t, url);
  for (let n = 0; n < 600; n += 1) {
    await ended.query({ name: `n${n}`, text: `SELECT 'of a client' || $1 AS word`, values: [''] });
  }
  await ended.end();
  await last.query({ name: 'n0', text: `SELECT 'of a client' || $1 AS word`, values: [''] });
  const count = async () => {
    const { rows } = await last.query(
      `SELECT count(*)::int AS count FROM pg_prepared_statements WHERE statement LIKE 'SELECT ''of a client''%'`,
    );
    return rows[0].count;
  };
  await eventually('the first ones are closed', async () => (await count()) <= 501);
  t.true((await count()) > 400);
  const again = await connected(t, url);
  for (const n of [0, 1, 599]) {
    const { rows } = await again.query({ name: `n${n}`, text: `SELECT 'of a client' || $1 AS word`, values: ['!'] });
    t.deepEqual(rows, [{ word: 'of a client!' }]);
  }
});

test('statements after an error in a pipeline get no response, whichever connection has prepared them', async (t) => {
  const database = await shared();
  const other = await connected(t, database.url);
  await other.query({ name: 'known', text: 'SELECT $1::smallint AS n', values: [1] });
  const client = await rawClient(t, database);
  client.send(Buffer.concat([message('P', '\0SELECT nothing\0\0\0'), message('H', '')]));
  await client.answer('\0\0');
  client.send(
    Buffer.concat([message('P', 'known\0SELECT $1::smallint AS n\0\0\0'), message('H', ''), message('S', '')]),
  );
  t.is(await client.answer(READY), READY);
});

test('a cancel request is accepted and its connection closed', async (t) => {
  const database = await shared();
  const socket = connect(join(socketFolderOf(database), '.s.PGSQL.5432'));
  socket.write(Buffer.from([0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e, 0, 0, 0, 0, 0, 0, 0, 0]));
  await once(socket, 'close');
  t.deepEqual((await poolOf(t, database).raw('SELECT 1 AS one')).rows, [{ one: 1 }]);
});

test('malformed bytes close their connection only', async (t) => {
  const database = await shared();
  const socket = connect(join(socketFolderOf(database), '.s.PGSQL.5432'));
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(socket, 'close');
  t.deepEqual((await poolOf(t, database).raw('SELECT 1 AS one')).rows, [{ one: 1 }]);
});

test('COPY FROM STDIN fails, and the database works after it', async (t) => {
  const pool = poolOf(t, await shared());
  await pool.raw('CREATE TABLE copied (word text)');
  await t.throwsAsync(Promise.resolve(pool.raw('COPY copied FROM STDIN')), { message: /COPY/ });
  t.deepEqual((await pool.raw('SELECT * FROM copied WHERE word <> ?', [''])).rows, []);
});

test.serial(
  'the lock of a dead process is taken over; an unexpected end of PGlite is reported and frees the folder',
  async (t) => {
    const folder = temporaryFolder(t);
    const stale = { pid: process.ppid, startedAt: 'long ago', claim: 'gone', socketFolder: '' };
    writeFileSync(join(folder, 'lock'), JSON.stringify(stale));
    const database = await start(t, { folder });
    const client = await rawClient(t, database);
    // In the extended protocol, COPY FROM STDIN is the only statement known to crash PGlite.
    client.send(
      Buffer.concat([
        message('Q', 'CREATE TABLE copied (word text)\0'),
        message('P', '\0COPY copied FROM STDIN\0\0\0'),
        message('B', '\0\0\0\0\0\0\0\0'),
        message('E', '\0\0\0\0\0'),
        message('S', ''),
      ]),
    );
    // The database itself does not keep the process alive, so this timer does.
    const alive = setInterval(() => {}, 1000);
    t.teardown(() => clearInterval(alive));
    t.regex((await database.exited).message, /embedded database has ended/);
    t.notThrows(() => lockFolder(folder, '', () => undefined).release());
  },
);

async function start(
  t: ExecutionContext,
  options: { folder?: string; idleInTransactionTimeoutMs?: number },
): Promise<EmbeddedDatabase> {
  const database = await startEmbeddedDatabase({ folder: null, snapshot: databaseSnapshot(), ...options });
  t.teardown(() => database.stop());
  return database;
}

function poolOf(t: ExecutionContext, { url }: EmbeddedDatabase): Knex {
  const pool = knexFactory({ client: 'pg', connection: url, pool: { min: 0, max: 4 } });
  t.teardown(() => pool.destroy());
  return pool;
}

function temporaryFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function socketFolderOf({ url }: EmbeddedDatabase): string {
  return new URL(url).searchParams.get('host') ?? '';
}

/** Runs `embedded-database-child.ts`, whose standard input ends with this process. */
function inChild(t: ExecutionContext, task: string, folder: string) {
  const file = fileURLToPath(new URL('./embedded-database-child.ts', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [file, task, folder, databaseSnapshot()], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (child.stdout === null) throw new Error('the child has no stdout');
  t.teardown(() => child.kill('SIGKILL'));
  return { process: child, lines: createInterface(child.stdout), ended: once(child, 'exit') };
}

/** A client that sends messages which no driver would send. */
async function rawClient(t: ExecutionContext, database: EmbeddedDatabase) {
  const socket = connect(join(socketFolderOf(database), '.s.PGSQL.5432'));
  t.teardown(() => socket.destroy());
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  /** Waits until the received data ends with `end`; returns all data since the last call. */
  async function answer(end: string): Promise<string> {
    while (!received.endsWith(end)) await once(socket, 'data');
    const all = received;
    received = '';
    return all;
  }
  socket.write('\0\0\0\x17\0\x03\0\0user\0postgres\0\0');
  await answer(READY);
  return { send: (bytes: Buffer) => socket.write(bytes), answer, end: () => socket.destroy() };
}

/** ReadyForQuery outside a transaction, as the last message. */
const READY = 'Z\0\0\0\x05I';

function message(type: string, body: string): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${body}`);
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}

async function connected(t: ExecutionContext, url: string): Promise<Client> {
  const client = new Client(url);
  await client.connect();
  t.teardown(() => client.end());
  return client;
}
