import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '@parley/chassis/config';
import { eventually } from '@parley/chassis/testing/eventually';
import { schemas } from '@parley/local/schemas';
import { topics } from '@parley/local/topics';
import { openLogs } from '@parley/mesh/logs';
import { migrateAll } from '@parley/mesh/migrate-all';
import { startProcessMesh } from '@parley/mesh/process-mesh';
import { addressesOf, type Replica } from '@parley/mesh/replicas';
import { topicsCommand } from '@parley/mesh/topics-command';
import type { EngineName } from '@parley/servers/engine';
import { type RunningServers, startServers } from '@parley/servers/start-servers';
import type { ExecutionContext, TestFn } from 'ava';
import type { Client } from '../../src/client.ts';
import { type Checker, openChecker } from '../../src/invariants.ts';
import { createLedger, type Ledger } from '../../src/ledger.ts';
import { reachable, testEnvironment } from '../../src/mesh.ts';
import { type ScriptedModel, startScriptedModel } from '../../src/scripted-model.ts';
import { type HeldTurns, holdTurns } from './held-turns.ts';

export const meshEngines: EngineName[] = ['postgres', 'redis', 'kafka'];

/** Whether tests take their full length, as `scripts/test --faults` asks for. */
export const fullLength = process.env.PARLEY_FAULTS === 'full';

export interface FaultMeshOptions {
  /** Settings of every unit, over those that the harness gives. */
  env?: Environment;
  /**
   * Has the last word on what one replica is configured with, addresses of servers and other units included, before any of
   * them starts: to put something that can fail between a unit and what it talks to. It is asked once for each replica.
   */
  wire?(replica: Replica, env: Environment, servers: RunningServers): Environment | Promise<Environment>;
}

export interface SettledOptions {
  /** Default 60,000. */
  timeoutMs?: number;
  /** Ids of the events that belong among the dead letters by now. */
  poison?: string[];
  /** How often a model may have been asked once more than attempts say, beyond the replicas that were killed. Default 0. */
  repeats?: number;
}

/** How one replica ended, and its return. */
export interface Death {
  /** `SIGKILL`, or `exit code 0`. */
  how: string;
  /** From the signal to its end. */
  endedAfterMs: number;
  /** Resolves when the supervisor has started it again and it is ready. Answers how long that took, from its end. */
  back(): Promise<number>;
}

/** Every unit as processes of their own on private servers, with what a fault test does to them. */
export interface FaultMesh {
  /** The public GraphQL address in front of both gateways. */
  url: string;
  /** The GraphQL address of each gateway alone. */
  gateways: string[];
  /** Somebody with a fresh account and tenant; `url` is where they talk to, by default the one in front. */
  person(url?: string): Promise<Client>;
  model: ScriptedModel;
  servers: RunningServers;
  replicas: Replica[];
  /** The settings that every unit has. */
  env: Environment;
  ledger: Ledger;
  /** Looks at rows and topics. */
  checker: Checker;
  pid(name: string): number;
  /** Whether it says that it is ready; false also where it does not answer. */
  isReady(name: string): Promise<boolean>;
  /** What one of its metrics stands at, all labels together. */
  metric(name: string, metric: string): Promise<number>;
  /** Sends a signal to a replica and resolves when it has ended. The supervisor then starts it again. */
  kill(name: string, signal?: NodeJS.Signals): Promise<Death>;
  /** Starts conversations whose replies have begun and are held back. */
  turnsInFlight(count: number): Promise<HeldTurns>;
  /**
   * Waits until nothing is queued, running or unpublished, and answers what is wrong then, one sentence each: every fault test
   * ends with `t.deepEqual(await settled(), [])`. What is left after all that time is told the same way.
   */
  settled(options?: SettledOptions): Promise<string[]>;
  /** What the supervisor has told so far. */
  said: readonly string[];
  logFolder: string;
  stop(): Promise<void>;
}

/** A mesh of a test's own. */
export async function faultMesh(t: Pick<ExecutionContext, 'teardown'>, options: FaultMeshOptions = {}) {
  const mesh = await startFaultMesh(options);
  t.teardown(() => mesh.stop());
  return mesh;
}

/** One mesh for the tests of a file that leave it whole. */
export function sharedFaultMesh(test: TestFn, options: FaultMeshOptions = {}): () => Promise<FaultMesh> {
  let started: Promise<FaultMesh> | undefined;
  test.after.always('the mesh stops', async () => (await started?.catch(() => undefined))?.stop());
  return () => {
    started ??= startFaultMesh(options);
    return started;
  };
}

/** Starts servers, schemas, topics, a model and all units. What has been started ends again when one of them fails. */
export async function startFaultMesh({ env = {}, wire }: FaultMeshOptions = {}): Promise<FaultMesh> {
  const closers: (() => Promise<unknown> | void)[] = [];
  const stop = async () => {
    for (let close = closers.pop(); close; close = closers.pop()) await close();
  };
  try {
    const servers = await startServers({ only: meshEngines });
    closers.push(() => servers.stop());
    if (servers.missing.length > 0) throw new Error(`missing: ${JSON.stringify(servers.missing)}`);
    const model = await startScriptedModel();
    closers.push(() => model.server.stop());
    const settings: Environment = {
      ...testEnvironment(model.env),
      ...servers.env,
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'info',
      ...env,
    };
    await Promise.all([
      told((terminal) => migrateAll(schemas, settings, terminal)),
      told((terminal) => topicsCommand(topics, undefined, settings, terminal)),
    ]);

    const logFolder = makeLogFolder();
    const logs = openLogs({ folder: logFolder });
    closers.push(async () => {
      await logs.close();
      if (!process.env.PARLEY_FAULT_LOGS) rmSync(logFolder, { recursive: true, force: true });
    });
    const said: string[] = [];
    const { GATEWAY_PORT: _port, STORAGE_PORT: _storage, ...shared } = settings;
    const mesh = await startProcessMesh({
      env: shared,
      publicPort: 0,
      logs,
      say(text) {
        said.push(text);
        logs.tell(text);
      },
      signal: new AbortController().signal,
      ...(wire && { wire: (replica, own) => wire(replica, own, servers) }),
      backoffMs: { first: 500, longest: 1_000 }, // one replica is killed again and again
    });
    closers.push(() => mesh.stop());

    const url = `http://127.0.0.1:${mesh.publicPort}/graphql`;
    const ledger = createLedger();
    const checker = openChecker(settings);
    closers.push(() => checker.close());
    let kills = 0;
    const pid = (name: string) => {
      const found = mesh.processes.find((each) => each.name === name)?.pid();
      if (found === undefined) throw new Error(`${name} does not run`);
      return found;
    };
    const ops = (name: string, path: string) => {
      const port = mesh.replicas.find((each) => each.name === name)?.ports.ops;
      return fetch(`http://127.0.0.1:${port}${path}`);
    };
    const person = (at = url) => reachable(at).person();
    return {
      url,
      gateways: addressesOf(mesh.replicas, 'gateway', 'public').map((address) => `http://${address}/graphql`),
      person,
      model,
      servers,
      replicas: mesh.replicas,
      env: settings,
      ledger,
      checker,
      pid,
      isReady: (name) =>
        ops(name, '/readyz').then(
          (answer) => answer.ok,
          () => false,
        ),
      async metric(name, metric) {
        const text = await (await ops(name, '/metrics')).text();
        const values = text.matchAll(new RegExp(`^${metric}(?:\\{.*\\})? (\\S+)$`, 'gmu'));
        return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
      },
      async kill(name, signal = 'SIGKILL') {
        const from = said.length;
        const begun = performance.now();
        process.kill(pid(name), signal);
        kills += 1;
        const later = (pattern: RegExp) =>
          said
            .slice(from)
            .map((line) => pattern.exec(line))
            .find((match) => match !== null);
        const ending = new RegExp(`^${name} has ended.*?\\((.+?)\\)`, 'u');
        const match = await eventually(`${name} ends`, () => later(ending), { timeoutMs: 40_000 });
        const ended = performance.now();
        return {
          how: match[1] ?? '',
          endedAfterMs: ended - begun,
          async back() {
            const isBack = new RegExp(`^${name} is back`, 'u');
            await eventually(`${name} is back`, () => later(isBack), { timeoutMs: 60_000 });
            return performance.now() - ended;
          },
        };
      },
      async settled({ timeoutMs = 60_000, poison = [], repeats = 0 } = {}) {
        let problems: string[] = [];
        const look = async () => {
          problems = await checker.left();
          if (problems.length > 0) return false;
          problems = await checker.broken({ ledger, model: model.server, repeats: kills + repeats, poison });
          return problems.length === 0;
        };
        // What cannot be read meanwhile, because a server is just coming back, is asked again.
        const again = async (error: unknown) => void (problems = [String(error)]);
        await eventually('nothing is wrong', () => look().catch(again), { timeoutMs }).catch(() => undefined);
        return problems;
      },
      turnsInFlight: (count) => holdTurns(count, { person, ledger, model }),
      said,
      logFolder,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Logs go with the mesh, unless `PARLEY_FAULT_LOGS` names a folder to keep them in. */
function makeLogFolder(): string {
  const parent = process.env.PARLEY_FAULT_LOGS ?? tmpdir();
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, 'parley-faults-'));
}

async function told(command: (terminal: Parameters<typeof migrateAll>[2]) => Promise<0 | 1>): Promise<void> {
  let problem = '';
  const stdout = { write: () => undefined };
  const stderr = { write: (text: string) => (problem += text) };
  if ((await command({ stdout, stderr })) !== 0) throw new Error(problem.trim());
}
