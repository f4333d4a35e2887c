// These tests start their own meshes, because the tests interrupt, kill and break the meshes.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbeddedDatabase } from '@parley/embedded/embedded';
import type { Environment } from '@parley/kernel/settings/config';
import { planReplicas } from '@parley/mesh/replicas';
import { freePorts } from '@parley/servers/ports';
import { emptyFolder, unabortedSignal } from '@parley/servers/testing/folder';
import { eventually } from '@parley/testing/eventually';
import { migratedSnapshot } from '@parley/testing/test-database';
import { schemas } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import { type RunningMesh, testEnvironment } from './mesh.ts';
import { startProcesses } from './processes.ts';
import { startSharedMeshes } from './shared-meshes.ts';

const say = () => undefined;

/** Sets the folder for the temporary files of all processes that the test starts later. */
function ownTemporaryFolder(t: ExecutionContext): string {
  const folder = emptyFolder(t);
  const before = process.env.TMPDIR;
  process.env.TMPDIR = folder;
  t.teardown(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
  return folder;
}

/** Finds all processes whose environment contains the folder, even those whose parent process has ended. */
function processesOf(folder: string): { pid: number; command: string }[] {
  const read = (file: string) => {
    try {
      return readFileSync(file, 'utf8').replaceAll('\0', ' ');
    } catch {
      return ''; // the process has ended, or belongs to another user
    }
  };
  return readdirSync('/proc').flatMap((name) =>
    /^\d+$/u.test(name) && Number(name) !== process.pid && read(`/proc/${name}/environ`).includes(folder)
      ? [{ pid: Number(name), command: read(`/proc/${name}/cmdline`) }]
      : [],
  );
}

let embedded: ReturnType<typeof startEmbeddedDatabase> | undefined;
test.after.always('the database stops', async () => (await embedded)?.stop());

/** Returns settings for processes that use one embedded database of this process and no other engine. */
async function onEmbedded(env: Environment = {}): Promise<Environment> {
  embedded ??= startEmbeddedDatabase({ folder: null, snapshot: await migratedSnapshot(schemas) });
  return testEnvironment({ DATABASE_URL: (await embedded).url, ...env });
}

test.serial('processes that cannot come up say why, and leave nothing', async (t) => {
  const settings = await onEmbedded({ SESSION_LEASE_MS: '-1' });
  const folder = ownTemporaryFolder(t);
  const plan = async () => (await planReplicas()).map((wave) => wave.filter(({ name }) => name === 'session-1'));
  await t.throwsAsync(startProcesses({ settings, logFolder: join(folder, 'logs'), signal: unabortedSignal, plan }), {
    message: /^session-1: [^]*SESSION_LEASE_MS: must be above 0/u,
  });
  t.deepEqual(processesOf(folder), []);
});

test.serial('the stop of the meshes reports a mesh that ended by itself, and violated invariants', async (t) => {
  const folder = ownTemporaryFolder(t);
  const meshes = await startSharedMeshes({ signal: unabortedSignal, say });
  const running: RunningMesh = JSON.parse(readFileSync(meshes.env.TEST_MESHES ?? '', 'utf8'));
  t.like(running, { name: 'one process', settings: { LOG_LEVEL: 'trace' } });
  const [mesh] = processesOf(folder).filter(({ command }) => command.includes('one-process-child.ts'));
  process.kill(mesh?.pid ?? 0, 'SIGKILL');
  await eventually('it is gone', () => processesOf(folder).length === 0);

  const problems = await meshes.stop();
  t.regex(problems.join('\n'), /^the mesh of one process: its data cannot be read/mu);
  t.regex(problems.join('\n'), /^the mesh of one process: it ended with /mu);
  t.deepEqual(readdirSync(folder), []);
});

test.serial('the stop of many processes reports each that ended by itself', async (t) => {
  const folder = emptyFolder(t);
  const main = join(folder, 'main.mjs');
  writeFileSync(
    main,
    `import { createServer } from 'node:http';
     createServer((_, response) => response.end('ready')).listen(Number(process.env.GATEWAY_OPS_PORT), '127.0.0.1');`,
  );
  const [ops = 0, open = 0] = await freePorts(2);
  const plan = async () => [[], [{ name: 'gateway-1', unit: 'gateway', main, ports: { ops, public: open } }]];
  const [settings, logFolder] = [await onEmbedded(), join(folder, 'logs')];
  const mesh = await startProcesses({ settings, logFolder, signal: unabortedSignal, plan });
  process.kill(mesh.processes[0]?.pid ?? 0, 'SIGKILL');
  await eventually('it is seen', () => mesh.said.length > 0);
  const problems = await mesh.stop();
  t.is(problems.length, 1);
  t.regex(problems[0] ?? '', /gateway-1 has ended \(SIGKILL\)/u);
});

/** Skips the test if this run has no Kafka, Redis and S3 servers. CI has them. */
const serversTest = process.env.TEST_KAFKA_BROKERS || process.env.CI ? test.serial : test.serial.skip;

serversTest('a start that is cut short leaves nothing of either mesh', async (t) => {
  const engines = Object.entries(process.env).flatMap(([name, value]) =>
    /^TEST_(REDIS|KAFKA|S3)_/u.test(name) ? [[name.slice('TEST_'.length), value]] : [],
  );
  const { DATABASE_URL } = await onEmbedded();
  const folder = ownTemporaryFolder(t);
  const interrupted = new AbortController();
  const servers = { ...Object.fromEntries(engines), DATABASE_URL };
  const cut = startSharedMeshes({ signal: interrupted.signal, say, servers });
  const isStarting = () => processesOf(folder).some(({ command }) => command.includes('/main.ts'));
  await eventually('processes start', isStarting, { timeoutMs: 120_000 }); // long, because the mesh in one process starts first
  interrupted.abort(new Error('cut short'));
  await t.throwsAsync(cut, { message: /cut short/u });
  await eventually('nothing is left', () => processesOf(folder).length === 0);
  t.deepEqual(readdirSync(folder), []);
});
