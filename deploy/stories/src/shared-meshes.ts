import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '@parley/kernel/config';
import { startServers } from '@parley/servers/start-servers';
import { startForwarder } from './forwarder.ts';
import { openChecker } from './invariants.ts';
import { type RunningMesh, testEnvironment } from './mesh.ts';
import { startOneProcess } from './one-process.ts';
import { startProcesses } from './processes.ts';

export interface SharedMeshesOptions {
  /** Cuts a start short. */
  signal: AbortSignal;
  /** Hears what is started. */
  say(line: string): void;
  /** Whether one of eight processes is started beside that of one, on servers of its own. */
  processes: boolean;
  /** Whether they have no model but the built-in one. Default false. */
  offline?: boolean;
}

/** Meshes for all test files that come while they run. This process passes their requests on to the files' models. */
export type SharedMeshes = Awaited<ReturnType<typeof startSharedMeshes>>;

/** How one of them is started. */
interface Place {
  folder: string;
  /** What it is configured with, engines apart. */
  settings: Environment;
  signal: AbortSignal;
  /** What ends after it, or because it does not come up. */
  closers: AsyncDisposableStack;
}

const shownComplaints = 40;

/** Starts them side by side. They end with this process. @throws Error where one does not come up; then nothing of them is left. */
export async function startSharedMeshes({ signal, say, processes, offline = false }: SharedMeshesOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-meshes-'));
  const failed = new AbortController();
  const place = { folder, signal: AbortSignal.any([signal, failed.signal]), offline, say };
  const beginnings = [
    // The stories that listen to what a mesh tells of itself are told on the processes where these run.
    startMesh('one process', { ...place, telling: !processes }, inOneProcess),
    ...(processes ? [startMesh('eight processes', { ...place, telling: true }, inEight)] : []),
  ];
  for (const each of beginnings) each.catch((error: unknown) => failed.abort(error));
  const ends = await Promise.allSettled(beginnings);
  const meshes = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));

  /**
   * Waits until nothing is under way any more, looks at what must hold of their data then, and stops them.
   * @returns what is wrong, one sentence each.
   */
  async function stop(): Promise<string[]> {
    const problems = await Promise.all(meshes.map((mesh) => mesh.stop()));
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    return problems.flat();
  }
  if (meshes.length < ends.length) {
    await stop();
    signal.throwIfAborted();
    throw failed.signal.reason;
  }
  return {
    /** What the tests are started with. */
    env: { TEST_MESHES: meshes.map(({ file }) => file).join() },
    /** What a person may want to know of them. */
    notes: meshes.flatMap(({ notes }) => notes),
    stop,
  };
}

async function startMesh(
  name: string,
  {
    folder: parent,
    signal,
    offline,
    telling,
    say,
  }: Pick<Place, 'folder' | 'signal'> & Pick<SharedMeshesOptions, 'say' | 'offline'> & { telling: boolean },
  start: typeof inOneProcess | typeof inEight,
) {
  const from = performance.now();
  await using closers = new AsyncDisposableStack();
  const folder = join(parent, name.replace(' ', '-'));
  mkdirSync(folder, { mode: 0o711 });
  const spans = join(folder, 'spans.jsonl');
  const forwarder = await startForwarder(spans);
  closers.defer(() => forwarder.stop());
  // Such a mesh tells all that it can of itself.
  const told = telling && { LOG_LEVEL: 'trace', ...(!offline && forwarder.telemetry) };
  const given = testEnvironment({ LOG_LEVEL: 'info', ...(!offline && forwarder.env), ...told });
  const { engines, units, logs, notes, stop } = await start({ folder, settings: given, signal, closers });
  const settings = { ...given, ...engines };
  const file = join(folder, 'mesh.json');
  writeFileSync(file, JSON.stringify({ name, settings, units, logs, spans } satisfies RunningMesh), { mode: 0o600 });
  say(`a mesh of ${name} is up after ${((performance.now() - from) / 1000).toFixed(1)} s`);
  const rest = closers.move();
  return {
    file,
    notes,
    async stop() {
      // Who is in a hurry has cut off what would come to rest.
      const broken = signal.aborted ? [] : await brokenAtRest(settings);
      const problems = [...broken, ...(await stop().catch((error: unknown) => [String(error)]))];
      await rest.disposeAsync();
      if (problems.length > 0) problems.push(`it logged:\n${complaintsIn(logs)}`);
      return problems.map((problem) => `the mesh of ${name}: ${problem}`);
    },
  };
}

async function inOneProcess({ folder, settings, signal }: Place) {
  const logs = join(folder, 'mesh.log');
  const env = { ...settings, LOG_FILE: logs };
  const mesh = await startOneProcess({ dataFolder: join(folder, 'data'), env, secondGateway: true, signal });
  /** Answers what it did that no mesh should. */
  const stop = async () => {
    const how = await mesh.stop();
    return how === 0 && mesh.stderr() === '' ? [] : [`it ended with ${how}: ${mesh.stderr()}`];
  };
  return { units: mesh.units, engines: { DATABASE_URL: mesh.databaseUrl }, logs, notes: [], stop };
}

async function inEight({ folder, settings, signal, closers }: Place) {
  const { env: engines, missing, stop } = await startServers({ signal });
  closers.defer(stop);
  const notes = missing.map(({ engine, reason }) => `the mesh of eight processes has no ${engine}: ${reason}`);
  const logFolder = join(folder, 'logs');
  const mesh = await startProcesses({ settings: { ...settings, ...engines }, logFolder, signal });
  return { units: mesh.units, engines, logs: join(logFolder, '*-[0-9].log'), notes, stop: mesh.stop };
}

async function brokenAtRest(settings: Environment): Promise<string[]> {
  const checker = openChecker(settings);
  try {
    await checker.rest();
    return await checker.broken();
  } catch (error) {
    return [`its data cannot be read: ${String(error)}`];
  } finally {
    await checker.close();
  }
}

/** The last that its processes complained of. */
function complaintsIn(logs: string): string {
  const lines = globSync(logs).flatMap((file) => readFileSync(file, 'utf8').split('\n'));
  const complaints = lines.filter((line) => /"level":"(warn|error|fatal)"/u.test(line));
  return complaints.slice(-shownComplaints).join('\n');
}
