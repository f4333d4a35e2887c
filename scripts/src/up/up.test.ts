import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createClient } from 'graphql-ws';
import { enter } from '../talk/account.ts';
import { type Api, publicApi } from '../talk/api.ts';
import { makePlace, newPlace, type Place, removePlace, startMesh, whenUp } from '../testing/mesh-process.ts';
import { banner } from './banner.ts';

let firstStart: Promise<Place> | undefined;

/** A first start takes seconds to make the database: most tests go on from a copy of the data folder of one. */
async function started(t: ExecutionContext): Promise<Place> {
  firstStart ??= (async () => {
    const place = makePlace();
    process.once('exit', () => removePlace(place));
    const mesh = startMesh(t, place);
    await whenUp(mesh);
    mesh.kill('SIGTERM');
    await mesh.ended;
    return place;
  })();
  return newPlace(t, (await firstStart).dataFolder);
}

async function tenantOf(api: Api): Promise<string> {
  return (await api.call<{ myTenant: { name: string } }>('{ myTenant { name } }')).myTenant.name;
}

test.serial(
  'its banner is all that the terminal sees, its log goes to a file, its keys are for their owner alone',
  async (t) => {
    const place = newPlace(t);
    const mesh = startMesh(t, place);
    const url = await whenUp(mesh);
    await t.throwsAsync(publicApi(url).call('{ nothing }'));

    t.regex(mesh.stdout, /^\nParley is up, after [\d.]+ s\.\n/u);
    t.regex(mesh.stdout, /OFFLINE[^\n]*\n(.*\n)*.*no language model/u);
    t.regex(mesh.stdout, /PGlite in .*data\/database/u);
    t.true(mesh.stdout.includes(`  scripts/talk --url ${url}\n`), 'its port is not the usual one');
    t.regex(mesh.stdout, /scripts\/talk.*\nStop with Ctrl-C\.\n\n$/u);
    t.is(mesh.stderr, '');
    t.true(existsSync(join(place.dataFolder, 'parley.log')));
    for (const name of ['keys.json', 'parley.log'])
      t.is(statSync(join(place.dataFolder, name)).mode & 0o777, 0o600, name);
    t.is(statSync(place.dataFolder).mode & 0o777, 0o700);
  },
);

test('the banner says no more of scripts/talk than is needed', (t) => {
  const facts = { seconds: 1, dataFolder: '.parley', logFile: '.parley/parley.log' };
  const at = (url: string) => banner({ publicUrl: () => url, engines: () => ({}), models: () => [] }, facts);
  t.regex(at('http://127.0.0.1:4000'), /  scripts\/talk\n/u);
  t.regex(at('http://127.0.0.1:4001'), /  scripts\/talk --url http:\/\/localhost:4001\/graphql\n/u);
});

const hasProc = existsSync('/proc/self/status');
(hasProc ? test.serial : test.serial.skip)('a first start takes less than 1 GB at any moment', async (t) => {
  const mesh = startMesh(t, newPlace(t));
  await whenUp(mesh);
  const peak = /^VmHWM:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${mesh.pid}/status`, 'utf8'))?.[1];
  t.log(`${Math.round(Number(peak) / 1024)} MiB`);
  t.true(Number(peak) * 1024 < 1_000_000_000, `${peak} kB`);
});

test.serial('the log tells when all was ready, where, and what stopped it', async (t) => {
  const place = await started(t);
  const logFile = join(place.dataFolder, 'of-this-run.log');
  const mesh = startMesh(t, place, { LOG_FILE: logFile });
  const url = await whenUp(mesh);
  await t.throwsAsync(publicApi(url).call('query Mine { anything: myTenant { id } }'));
  mesh.kill('SIGTERM');
  await mesh.ended;

  const lines = readFileSync(logFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const line = (msg: string) => lines.filter((each) => each.level === 'info' && each.msg === msg);
  const [ready] = line('ready');
  t.is(new URL(ready?.addresses.gateway.public).port, new URL(url).port);
  t.truthy(ready?.addresses.session.rpc);
  t.like(line('stopped'), [{ signal: 'SIGTERM', code: 0 }]);
  const [request, ...others] = line('request');
  t.like(request, { unit: 'gateway', operations: ['myTenant'], status: 200, outcome: 'error' });
  t.is(typeof request?.ms, 'number');
  t.truthy(request?.requestId);
  t.deepEqual(others, []);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test.serial(`${signal} ends it within 10 s, also beside an open socket, and nothing is left behind`, async (t) => {
    const place = await started(t);
    const mesh = startMesh(t, place);
    const url = await whenUp(mesh);
    const { closed } = await openSocket(t, url);

    const before = performance.now();
    mesh.kill(signal);
    t.is(await mesh.ended, 0, mesh.stderr);
    t.true(performance.now() - before < 10_000);
    t.is(mesh.stderr, '');
    t.deepEqual(readdirSync(place.temporaryFolder), []);
    t.false(existsSync(join(place.dataFolder, 'database/lock')));
    t.is(typeof (await closed), 'number');
  });
}

/** An open connection to the API; `closed` resolves with the code that it is closed with. */
async function openSocket(t: ExecutionContext, url: string): Promise<{ closed: Promise<number> }> {
  const api = publicApi(url);
  await enter(api, {});
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const { promise: closed, resolve: close } = Promise.withResolvers<number>();
  const client = createClient({
    url: url.replace('http', 'ws'),
    lazy: false,
    retryAttempts: 0,
    onNonLazyError: () => undefined,
    connectionParams: () => api.connectionParams(),
    on: { connected: () => open(), closed: (event) => close((event as { code: number }).code) },
  });
  t.teardown(() => client.dispose());
  await opened;
  return { closed };
}

test.serial('data survives a restart and a kill -9, and the next start clears up after it', async (t) => {
  const place = await started(t);
  const first = startMesh(t, place);
  const { email, password = '' } = await enter(publicApi(await whenUp(first)), {});
  first.kill('SIGKILL');
  t.is(await first.ended, 'SIGKILL');

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const mesh = startMesh(t, place);
    const api = publicApi(await whenUp(mesh));
    await enter(api, { email, password });
    t.truthy(await tenantOf(api));
    t.is(readdirSync(place.temporaryFolder).length, 1);
    mesh.kill(signal);
    await mesh.ended;
  }
});

test.serial('a token of an earlier run is good in the next one', async (t) => {
  const place = await started(t);
  const first = startMesh(t, place);
  const earlier = publicApi(await whenUp(first));
  await enter(earlier, {});
  const params = await earlier.connectionParams();
  first.kill('SIGTERM');
  await first.ended;

  const later = publicApi(await whenUp(startMesh(t, place)));
  const accessToken = params.authorization?.replace('Bearer ', '') ?? '';
  later.signIn({ accessToken, refreshToken: '' });
  t.truthy(await tenantOf(later));
});

for (const setting of ['GATEWAY_PORT', 'STORAGE_PORT']) {
  test.serial(`a ${setting} that is taken is named`, async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    t.teardown(() => other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const place = await started(t);
    const mesh = startMesh(t, place, { [setting]: String(port) });

    t.is(await mesh.ended, 1);
    t.regex(mesh.stderr, new RegExp(`^Port ${port} on 127\\.0\\.0\\.1 is taken by another program[^\n]*\n$`, 'u'));
    t.is(mesh.stdout, '');
    t.deepEqual(readdirSync(place.temporaryFolder), []);
  });
}

test('all bad settings are named at once', async (t) => {
  const mesh = startMesh(t, newPlace(t), {
    GATEWAY_PORT: 'four thousand',
    STORAGE_PORT: '-1',
    S3_ENDPOINT: 'there',
    LOG_LEVEL: 'loud',
    PARLEY_PUBLIC_URL: 'localhost',
    DATABASE_URL: 'mysql://localhost',
    HOSTED_SMALL_MODEL_URL: 'model',
    SESSION_LEASE_MS: '-1',
    REDIS_URL: 'localhost',
  });

  t.is(await mesh.ended, 1);
  for (const name of [
    'GATEWAY_PORT',
    'STORAGE_PORT',
    'S3_ENDPOINT',
    'S3_BUCKET',
    'LOG_LEVEL',
    'PARLEY_PUBLIC_URL',
    'DATABASE_URL',
    'HOSTED_SMALL_MODEL_URL',
    'SESSION_LEASE_MS',
    'REDIS_URL',
  ]) {
    t.is(mesh.stderr.match(new RegExp(`^  ${name}: `, 'gmu'))?.length, 1, `${name} in ${mesh.stderr}`);
  }
});

test.serial('a second one on the same data folder is refused, and told which process has it', async (t) => {
  const place = await started(t);
  const first = startMesh(t, place);
  const url = await whenUp(first);
  const second = startMesh(t, { ...place, temporaryFolder: newPlace(t).temporaryFolder });

  t.is(await second.ended, 1);
  t.regex(second.stderr, new RegExp(`^The data folder .* is in use by process ${first.pid}\\..*\n$`, 'u'));
  await enter(publicApi(url), {}); // the first one goes on
});

test('a data folder that cannot be made is named', async (t) => {
  const { dataFolder, ...place } = newPlace(t);
  writeFileSync(dataFolder, 'a file');
  const mesh = startMesh(t, { ...place, dataFolder: join(dataFolder, 'below') });

  t.is(await mesh.ended, 1);
  t.regex(mesh.stderr, /^The data folder .*data\/below cannot be written \(ENOTDIR\)\. PARLEY_DATA_DIR.*\n$/u);
});

for (const [what, text] of Object.entries({ cut: '{"MESH_KEY": "', empty: '', incomplete: '{}', odd: 'null' })) {
  test(`a keys.json that is ${what} is named, and left as it is`, async (t) => {
    const place = newPlace(t);
    const file = join(place.dataFolder, 'keys.json');
    mkdirSync(place.dataFolder);
    writeFileSync(file, text);
    const mesh = startMesh(t, place);

    t.is(await mesh.ended, 1);
    t.regex(mesh.stderr, /^.*keys\.json is damaged\..*\n$/u);
    t.is(readFileSync(file, 'utf8'), text);
  });
}

test('in production no smaller engine is taken unasked', async (t) => {
  const mesh = startMesh(t, newPlace(t), { NODE_ENV: 'production' });

  t.is(await mesh.ended, 1);
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'KAFKA_BROKERS', 'S3_ENDPOINT']) {
    t.true(mesh.stderr.includes(`\n  ${name}: is missing, and NODE_ENV is production\n`), mesh.stderr);
  }
});
