// These tests start their own mesh, because they test its first start, its stops, and the data that it leaves.
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from '@parley/stories/client';
import test, { type ExecutionContext } from 'ava';
import { root } from '../root.ts';
import { type Child, startChild } from '../testing/child.ts';
import { banner } from './banner.ts';
import { upOneProcess } from './up-one-process.ts';

/** The data folder and the temporary folder of a mesh. */
interface Place {
  data: string;
  temporary: string;
}

/** Creates the folders of a mesh, which are removed at the end of the test. */
function newPlace(t: Pick<ExecutionContext, 'teardown'>): Place {
  const folder = mkdtempSync('/tmp/parley-up-'); // a short path, because the path of a socket may have at most 104 bytes
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const place = { data: join(folder, 'data'), temporary: join(folder, 'tmp') };
  mkdirSync(place.temporary);
  return place;
}

/** Node's flags in `scripts/up`. */
const upFlags = /^NODE_FLAGS=(.+)$/mu.exec(readFileSync(join(root, 'scripts/up'), 'utf8'))?.[1]?.split(' ') ?? [];

/** Starts `scripts/up` with these folders and free ports. */
function startUp(t: ExecutionContext, { data, temporary }: Place, env: Record<string, string> = {}): Child {
  const ports = { GATEWAY_PORT: '0', VOICE_PORT: '0', STORAGE_PORT: '0', DEMO_PORT: '0' };
  return startChild(t, 'up', {
    flags: upFlags,
    env: { PARLEY_DATA_DIR: data, TMPDIR: temporary, TRUSTED_PROXIES: '127.0.0.1/32', ...ports, ...env },
  });
}

/** Waits until the mesh is up and returns the GraphQL endpoint in its banner. */
async function whenUp(mesh: Child): Promise<string> {
  await mesh.says(/Stop with Ctrl-C/u);
  return /http:\/\/\S+\/graphql/u.exec(mesh.stdout)?.[0] ?? '';
}

/** Stops the mesh as Ctrl-C does, and checks that it leaves no temporary files and no lock. */
async function ends(t: ExecutionContext, mesh: Child, { data, temporary }: Place): Promise<void> {
  mesh.kill('SIGINT');
  t.is(await mesh.ended, 0, mesh.stderr); // exit code 1 if the mesh takes longer to stop than its own timeout of 9 s
  t.is(mesh.stderr, '');
  t.deepEqual(readdirSync(temporary), []);
  t.false(existsSync(join(data, 'database/lock')));
}

// allow-name workflow: the command.

/** Runs the command that the page with examples of workflows contains, against a mesh without a language model. */
async function runsExample(t: ExecutionContext, url: string): Promise<void> {
  const page = readFileSync(join(root, 'services/agent/examples/README.md'), 'utf8');
  const command = /(?<=```sh\nscripts\/workflow )[^`]*/u.exec(page)?.[0].replaceAll('\\\n', ' ') ?? '';
  const args = (command.match(/'[^']*'|\S+/gu) ?? []).map((word) => word.replaceAll("'", ''));
  const run = startChild(t, 'workflow', { args, env: { PARLEY_URL: url } });
  t.is(await run.ended, 0, run.stderr);
  t.is(run.stderr, '');
  t.regex(run.stdout, /three working days.*\n— from returns\.md\n[^]*— by classify → answer → say_answer\n/u);
  t.regex(
    run.stdout,
    /What is the number of your order\?\n[^]*— by classify → ask_number → has_number → want_number\n/u,
  );
}

/** The data folder of consecutive starts, with the account of one person. */
const place = newPlace({ teardown: (remove) => test.after.always('the data folder is removed', () => void remove()) });
const { data, temporary } = place;
const ada = new Client('');

test.serial(
  'a first start says all that a person needs, runs the example of a workflow, and its data folder is in use until it is killed',
  async (t) => {
    const first = startUp(t, place, { IDENTITY_HASH_QUEU: '3' });
    const url = await whenUp(first);
    if (existsSync('/proc/self/status')) {
      const peak = /^VmHWM:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${first.pid}/status`, 'utf8'))?.[1];
      t.true(Number(peak) * 1024 < 1_000_000_000, `a first start takes ${peak} kB, at most 1 GB`);
    }
    t.regex(first.stdout, /^\nParley is up, after [\d.]+ s\.\n/u);
    t.regex(first.stdout, /OFFLINE[^\n]*\n(.*\n)*.*no language model/u);
    t.regex(first.stdout, /PGlite in .*data\/database/u);
    t.regex(first.stdout, /no settings +IDENTITY_HASH_QUEU \(the nearest is IDENTITY_HASH_QUEUE\)\n/u);
    const log = readFileSync(join(data, 'parley.log'), 'utf8');
    t.regex(log, /"level":"warn".*"variables":\{"IDENTITY_HASH_QUEU":"IDENTITY_HASH_QUEUE"\}/u);
    t.true(first.stdout.includes(`  scripts/talk --url ${url}\n`), 'its port is not the usual one');
    t.regex(first.stdout, /scripts\/talk.*\nStop with Ctrl-C\.\n\n$/u);
    for (const name of ['keys.json', 'parley.log']) t.is(statSync(join(data, name)).mode & 0o777, 0o600, name);
    t.is(statSync(data).mode & 0o777, 0o700);

    Object.assign(ada, { url });
    await ada.register();
    await runsExample(t, url);
    const second = startUp(t, { data, temporary: newPlace(t).temporary });
    t.is(await second.ended, 1);
    t.regex(second.stderr, new RegExp(`^The data folder .* is in use by process ${first.pid}\\..*\n$`, 'u'));
    first.kill('SIGKILL');
    t.is(await first.ended, 'SIGKILL');
  },
);

test.serial('data and tokens survive a kill -9, Ctrl-C leaves nothing behind, and the log has each run', async (t) => {
  const LOG_FILE = join(data, 'of-this-run.log');
  const last = startUp(t, place, { LOG_FILE });
  const again = ada.at(await whenUp(last));
  t.is(readdirSync(temporary).length, 1, 'what the last one left is cleared up');
  await again.query('{ myTenant { name } }'); // with the tokens from the previous start
  const session = again.subscribe(1); // a session that does not exist: the socket stays open
  await session.until('a refusal', ({ errors }) => errors);
  await again.login({ email: ada.account?.email ?? '', password: ada.account?.password ?? '' });
  await new Client(again.url).send('query Mine { anything: myTenant { id } }');
  await ends(t, last, place);
  await session.until('the end of the socket', ({ closed }) => closed);

  const lines = readFileSync(LOG_FILE, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const line = (msg: string) => lines.filter((each) => each.level === 'info' && each.msg === msg);
  const [ready] = line('ready');
  t.is(new URL(ready?.addresses.gateway.public).port, new URL(again.url).port);
  t.truthy(ready?.addresses.session.rpc);
  t.like(line('stopped'), [{ signal: 'SIGINT', code: 0 }]);
  const [kept, login, request, ...others] = line('request');
  // allow-name login: the log line contains the requested operation. allow-name myTenant: the same.
  t.like(kept, { operations: ['myTenant'], outcome: 'ok' });
  t.like(login, { unit: 'gateway', operations: ['login'], status: 200, outcome: 'ok' });
  t.like(request, { unit: 'gateway', operations: ['myTenant'], status: 200, outcome: 'error' });
  t.is(typeof request?.ms, 'number');
  t.truthy(request?.requestId);
  t.deepEqual(others, []);
});

test.serial('a port that is taken is named', async (t) => {
  for (const setting of ['GATEWAY_PORT', 'STORAGE_PORT']) {
    const other = createServer().listen(0, '127.0.0.1');
    t.teardown(() => other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const mesh = startUp(t, place, { [setting]: String(port) });
    t.is(await mesh.ended, 1);
    t.regex(mesh.stderr, new RegExp(`^Port ${port} on 127\\.0\\.0\\.1 is taken by another program[^\n]*\n$`, 'u'));
    t.is(mesh.stdout, '');
    t.deepEqual(readdirSync(temporary), []);
  }
});

test('the banner shows options of scripts/talk only if they are needed', (t) => {
  const at = (url: string) => banner(url, [], []);
  t.regex(at('http://localhost:4000'), /  scripts\/talk\n/u);
  t.regex(at('http://localhost:4001'), /  scripts\/talk --url http:\/\/localhost:4001\/graphql\n/u);
});

/** Returns the error with which `scripts/up` would end before it starts anything. */
async function refusal(env: Record<string, string>, dataFolder: string): Promise<string> {
  const { LOG_FILE } = process.env;
  try {
    await upOneProcess(env, dataFolder);
    return 'nothing';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    process.env.LOG_FILE = LOG_FILE ?? ''; // `upOneProcess` has changed the variable of this process
  }
}

test('all invalid settings are reported at once', async (t) => {
  const bad = {
    GATEWAY_PORT: 'four thousand',
    STORAGE_PORT: '-1',
    S3_ENDPOINT: 'there',
    LOG_LEVEL: 'loud',
    PARLEY_PUBLIC_URL: 'localhost',
    DATABASE_URL: 'mysql://localhost',
    HOSTED_SMALL_MODEL_URL: 'model',
    SESSION_LEASE_MS: '-1',
    REDIS_URL: 'localhost',
    NODE_ENV: 'Production',
  };
  const message = await refusal(bad, newPlace(t).data);
  for (const name of [...Object.keys(bad), 'S3_BUCKET']) {
    t.is(message.match(new RegExp(`^  ${name}: `, 'gmu'))?.length, 1, `${name} in ${message}`);
  }
});

test('a data folder that cannot be created is reported with its path', async (t) => {
  const { data } = newPlace(t);
  writeFileSync(data, 'a file');
  const message = await refusal({}, join(data, 'below'));
  t.regex(message, /^The data folder .*data\/below cannot be written \(ENOTDIR\)\. PARLEY_DATA_DIR.*$/u);
});

for (const [what, text] of Object.entries({ cut: '{"MESH_KEY": "', empty: '', incomplete: '{}', odd: 'null' })) {
  test(`a keys.json that is ${what} is reported and not changed`, async (t) => {
    const { data } = newPlace(t);
    const file = join(data, 'keys.json');
    mkdirSync(data);
    writeFileSync(file, text);
    t.regex(await refusal({}, data), /^.*keys\.json is damaged\..*$/u);
    t.is(readFileSync(file, 'utf8'), text);
  });
}

test('in production missing engine addresses are errors, and no embedded engine starts', async (t) => {
  const message = await refusal({ NODE_ENV: 'production' }, newPlace(t).data);
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'KAFKA_BROKERS', 'S3_ENDPOINT']) {
    t.true(message.includes(`\n  ${name}: is missing, and NODE_ENV is production`), message);
  }
});
