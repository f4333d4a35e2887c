import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '@parley/kernel/settings/config';
import { startIdentityProvider } from '../../../services/identity/test/support/identity-provider.ts';
import { startForwarder } from './forwarder.ts';
import { openChecker } from './invariants.ts';
import { type RunningMesh, testEnvironment } from './mesh.ts';
import { startMessagingProduct } from './messaging-product.ts';
import { startOneProcess } from './one-process.ts';
import { startProcesses } from './processes.ts';
import { startSpeechProvider } from './speech-provider.ts';

export interface SharedMeshesOptions {
  /** Cancels the start. */
  signal: AbortSignal;
  /** Receives progress messages. */
  say(line: string): void;
  /**
   * The settings of the servers (Kafka, Redis, S3, database) for a second mesh, which consists of several processes. Without it, only the
   * mesh in one process is started.
   */
  servers?: Environment | undefined;
  /** Whether the built-in model is the only one. Default false. */
  offline?: boolean;
}

/** Meshes that test files share. This process forwards model requests to the model servers of the test files. */
export type SharedMeshes = Awaited<ReturnType<typeof startSharedMeshes>>;

const shownWarnings = 40;

/**
 * Starts the meshes, beginning with the mesh in one process, so that all other processes find its compiled code in the cache. If ten
 * processes started at once, each would compile the same code. The meshes end with this process.
 * @throws Error if a mesh does not start; all meshes are then stopped
 */
export async function startSharedMeshes({ signal, say, servers, offline = false }: SharedMeshesOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-meshes-'));
  const failed = new AbortController();
  const common = { parent: folder, signal: AbortSignal.any([signal, failed.signal]), offline, say };
  const meshes: Awaited<ReturnType<typeof startMesh>>[] = [];

  /**
   * Waits until the meshes are idle, checks the invariants of their data, and stops the meshes.
   * @returns the problems found, one sentence each
   */
  async function stop(): Promise<string[]> {
    const problems = await Promise.all(meshes.map((mesh) => mesh.stop()));
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    return problems.flat();
  }
  try {
    // Stories about logs and spans run on the mesh of several processes, if there is one. Then the mesh in one process does not record
    // them.
    meshes.push(await startMesh('one process', { ...common, verbose: !servers }));
    if (servers) meshes.push(await startMesh('processes', { ...common, servers, verbose: true }));
  } catch (error) {
    failed.abort(error);
    await stop();
    signal.throwIfAborted();
    throw error;
  }
  return {
    /** The environment for the tests. */
    env: { TEST_MESHES: meshes.map(({ file }) => file).join() },
    stop,
  };
}

type MeshOptions = SharedMeshesOptions & { parent: string; verbose: boolean };

async function startMesh(name: string, { parent, signal, offline, verbose, servers, say }: MeshOptions) {
  const from = performance.now();
  await using closers = new AsyncDisposableStack();
  const folder = join(parent, name.replace(' ', '-'));
  mkdirSync(folder, { mode: 0o711 });
  const spans = join(folder, 'spans.jsonl');
  const forwarder = await startForwarder(spans);
  closers.defer(() => forwarder.stop());
  const provider = await startIdentityProvider();
  closers.defer(() => provider.stop());
  const messaging = await startMessagingProduct();
  closers.defer(() => messaging.stop());
  const speech = await startSpeechProvider();
  closers.defer(() => speech.stop());
  // With these settings, the mesh logs every level and exports spans.
  const observed = verbose && { LOG_LEVEL: 'trace', ...(!offline && forwarder.telemetry) };
  const given = testEnvironment({
    LOG_LEVEL: 'info',
    ...provider.env,
    MESSAGING_URL_INTL: messaging.url,
    ...speech.env,
    IDP_ONE_TIMEOUT_MS: '20000',
    // A long timeout, because a turn continues without passages that arrive too late, but stories need the passages' citations.
    AGENT_RETRIEVAL_TIMEOUT_MS: '20000',
    // A short time limit, because a story waits until a workflow's turn exceeds it.
    AGENT_WORKFLOW_TURN_MS: '15000',
    ...(!offline && forwarder.env),
    ...observed,
  });
  const start = servers ? inProcesses : inOneProcess;
  const { settings, units, logs, stop } = await start(folder, { ...given, ...servers }, signal);
  const file = join(folder, 'mesh.json');
  writeFileSync(file, JSON.stringify({ name, settings, units, logs, spans } satisfies RunningMesh), { mode: 0o600 });
  say(`a mesh of ${name} is up after ${((performance.now() - from) / 1000).toFixed(1)} s`);
  const rest = closers.move();
  return {
    file,
    async stop() {
      // An aborted run has not finished its work, so the invariants need not hold.
      const broken = signal.aborted ? [] : await brokenWhenIdle(settings);
      const problems = [...broken, ...(await stop().catch((error: unknown) => [String(error)]))];
      await rest.disposeAsync();
      if (problems.length > 0) problems.push(`it logged:\n${warningsIn(logs)}`);
      return problems.map((problem) => `the mesh of ${name}: ${problem}`);
    },
  };
}

async function inOneProcess(folder: string, env: Environment, signal: AbortSignal) {
  const logs = join(folder, 'mesh.log');
  const given = { ...env, LOG_FILE: logs };
  const mesh = await startOneProcess({ dataFolder: join(folder, 'data'), env: given, secondGateway: true, signal });
  /** Stops the mesh. Resolves with the problems found. */
  const stop = async () => {
    const how = await mesh.stop();
    return how === 0 && mesh.stderr() === '' ? [] : [`it ended with ${how}: ${mesh.stderr()}`];
  };
  const settings = { ...env, DATABASE_URL: mesh.databaseUrl, PARLEY_DATA_DIR: join(folder, 'data') };
  return { units: mesh.units, settings, logs, stop };
}

async function inProcesses(folder: string, env: Environment, signal: AbortSignal) {
  const settings = { ...env, PARLEY_DATA_DIR: join(folder, 'data') };
  const logFolder = join(folder, 'logs');
  const { units, stop } = await startProcesses({
    settings,
    logFolder,
    signal,
    // The same service names as in the Helm chart.
    wire: ({ unit }, own) => ({ ...own, OTEL_SERVICE_NAME: `parley-${unit}` }),
  });
  return { units, settings, logs: join(logFolder, '*-[0-9].log'), stop };
}

async function brokenWhenIdle(settings: Environment): Promise<string[]> {
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

/** Returns the last warnings and errors in the logs. */
function warningsIn(logs: string): string {
  const lines = globSync(logs).flatMap((file) => readFileSync(file, 'utf8').split('\n'));
  const warnings = lines.filter((line) => /"level":"(warn|error|fatal)"/u.test(line));
  return warnings.slice(-shownWarnings).join('\n');
}
