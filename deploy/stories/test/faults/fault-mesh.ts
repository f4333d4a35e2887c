import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import type { EngineName } from '@parley/servers/engine';
import { startServers } from '@parley/servers/start-servers';
import { never } from '@parley/servers/testing/folder';
import { eventually } from '@parley/testing/eventually';
import type { ReceivedRequest } from '@parley/testing/model-server';
import { commandSettings } from '@parley/units/command-settings';
import type { TestFn } from 'ava';
import { startEmbeddings } from '../../../../services/knowledge/test/embeddings-server.ts';
import { readRows } from '../../src/invariants/read-rows.ts';
import { createLedger } from '../../src/ledger.ts';
import { gatewaysIn, reachable, testEnvironment } from '../../src/mesh.ts';
import { type ProcessesOptions, startProcesses } from '../../src/processes.ts';
import { startScriptedModel } from '../../src/scripted-model.ts';
import { objectLine } from './object-line.ts';
import { postgresLine } from './postgres-line.ts';

export const meshEngines: EngineName[] = ['postgres', 'redis', 'kafka', 's3'];

/** Whether tests take their full length, as `scripts/test --faults` asks for. */
export const fullLength = process.env.PARLEY_FAULTS === 'full';

/** For the short form only: at full length the ordinary leases and deadlines have to expire. */
const shortSettings = {
  SESSION_LEASE_MS: '5000',
  EVALUATION_LEASE_MS: '5000',
  PARSER_LEASE_MS: '5000',
  ACTION_LEASE_MS: '5000',
  IDENTITY_SPEND_LEASE_MS: '5000',
  IDENTITY_IDEMPOTENCY_LEASE_MS: '3000',
  AGENT_IDEMPOTENCY_LEASE_MS: '3000',
  KAFKA_STALLED_AFTER_MS: '5000',
};

/** Each poll reads all rows. */
const lookAgainMs = 1_000;

/** Where logs stay after the mesh was stopped. */
const { faultLogs: keptLogs } = readSettings(process.env, commandSettings);

export interface FaultMeshOptions extends Pick<ProcessesOptions, 'wire' | 'tap'> {
  /** Settings of every unit, over those that the harness gives. */
  env?: Environment;
}

/** Every unit as processes of their own on private servers, with what a fault test does to them. */
export type FaultMesh = Awaited<ReturnType<typeof startFaultMesh>>;

let shared: Promise<FaultMesh> | undefined;
let wanted: FaultMeshOptions = {};

/**
 * One mesh for all tests of a process; each test restores it. The first test that asks for it starts it, with the options of all
 * files.
 */
export function sharedFaultMesh(test: TestFn, options: FaultMeshOptions = {}): () => Promise<FaultMesh> {
  wanted = { ...wanted, ...options };
  test.after.always('the mesh stops', async () => (await shared?.catch(() => undefined))?.stop());
  return () => {
    shared ??= startFaultMesh(wanted);
    return shared;
  };
}

/** Starts servers, schemas, topics, a model and all units. What has been started ends again when something fails. */
async function startFaultMesh({ env = {}, wire = (_replica, own) => own, tap }: FaultMeshOptions) {
  await using closers = new AsyncDisposableStack();
  const servers = await startServers({ only: meshEngines });
  closers.defer(() => servers.stop());
  if (servers.missing.length > 0) throw new Error(`missing: ${JSON.stringify(servers.missing)}`);
  const model = await startScriptedModel({ billsApart: true });
  closers.defer(() => model.server.stop());
  const embeddings = await startEmbeddings({ teardown: (stop) => closers.defer(stop) });
  const settings: Environment = {
    ...testEnvironment(model.env),
    HOSTED_SMALL_MODEL_MODEL: 'gpt-4o-mini', // calls cost something
    EMBEDDINGS_URL: embeddings.url,
    ...servers.env,
    ...(!fullLength && shortSettings),
    LOG_LEVEL: process.env.LOG_LEVEL ?? (keptLogs ? 'info' : 'warn'),
    ...env,
  };
  /** The line of session and evaluation to their database. */
  const toPostgres = await postgresLine(servers.env.DATABASE_URL ?? '');
  closers.defer(() => toPostgres.close());
  /** The line of parser to the object store. */
  const toObjects = await objectLine(servers.env.S3_ENDPOINT ?? '');
  closers.defer(() => toObjects.close());

  const logFolder = join(keptLogs ?? tmpdir(), `parley-faults-${randomUUID()}`);
  if (!keptLogs) closers.defer(() => rmSync(logFolder, { recursive: true, force: true }));
  const environments = new Map<string, Environment>();
  const { replicas, processes, publicPort, units, checker, logs, said, stop } = await startProcesses({
    settings,
    logFolder,
    signal: never,
    ...(tap && { tap }),
    wire(replica, own) {
      const viaLine = replica.unit === 'session' || replica.unit === 'evaluation';
      const wired = wire(replica, {
        ...own,
        ...(viaLine && { DATABASE_URL: toPostgres.url }),
        ...(replica.unit === 'parser' && { S3_ENDPOINT: toObjects.url }),
      });
      environments.set(replica.name, wired);
      return wired;
    },
    backoffMs: { first: 500, longest: 1_000 }, // one replica is killed again and again
  });
  closers.defer(async () => void (await stop()));

  const ledger = createLedger();
  const poison: string[] = [];
  /** What models were asked until the last time that all was well, each once; and how many requests that were. */
  let asked: ReceivedRequest[] = [];
  let judged = 0;
  let kills = 0;

  function pid(name: string): number {
    const found = processes.find((each) => each.name === name)?.pid;
    if (found === undefined) throw new Error(`${name} does not run`);
    return found;
  }

  function ops(name: string, path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${replicas.find((each) => each.name === name)?.ports.ops}${path}`);
  }

  /** What is still to be done; once that is nothing, what is wrong. */
  async function problems(repeats: number): Promise<string[]> {
    const left = await checker.left();
    if (left.length > 0) return left;
    const { requests } = model.server;
    const all = [...asked, ...requests.slice(judged)];
    const wrong = await checker.broken({ ledger, model: { requests: all }, repeats: kills + repeats, poison });
    if (wrong.length > 0) return wrong;
    asked = [...new Map(all.map((request) => [JSON.stringify(request.body), request])).values()];
    judged = requests.length;
    kills = 0;
    return [];
  }

  const started = closers.move();
  return {
    // People come to the address in front of both gateways.
    ...reachable([`http://127.0.0.1:${publicPort}/graphql`]),
    gateways: gatewaysIn(units),
    model,
    servers,
    replicas,
    ledger,
    logs,
    logFolder,
    toPostgres,
    toObjects,
    /** Embeds the passages and queries of knowledge. */
    embeddings,
    database: checker.database,
    kafka: { brokers: (servers.env.KAFKA_BROKERS ?? '').split(',') },
    /** All settings of each replica. */
    environments,
    /** Ids of the events that belong among the dead letters by now. */
    poison,
    pid,
    /** The operators' endpoint of a replica. */
    ops,
    rows: () => readRows(checker.database),
    /** Whether it says that it is ready; false also where it does not answer. */
    isReady: (name: string) =>
      ops(name, '/readyz')
        .then(({ ok }) => ok)
        .catch(() => false),
    /** What one of its metrics stands at, all labels together. */
    async metric(name: string, metric: string): Promise<number> {
      const text = await (await ops(name, '/metrics')).text();
      const values = text.matchAll(new RegExp(`^${metric}(?:\\{.*\\})? (\\S+)$`, 'gmu'));
      return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
    },
    /** Sends a signal to a replica and resolves when it has ended. The supervisor then starts it again. */
    async kill(name: string, signal: NodeJS.Signals = 'SIGKILL') {
      const from = said.length;
      const reported = (what: string) => said.slice(from).find((line) => line.startsWith(`${name} ${what}`));
      const begun = performance.now();
      process.kill(pid(name), signal);
      kills += 1;
      const line = await eventually(`${name} ends`, () => reported('has ended'), { timeoutMs: 40_000 });
      const ended = performance.now();
      return {
        /** `SIGKILL`, or `exit code 0`. */
        how: /\((.+?)\)/u.exec(line)?.[1],
        /** From the signal to its end. */
        endedAfterMs: ended - begun,
        /** Resolves when it has been started again and is ready. Answers how long that took, from its end. */
        async back(): Promise<number> {
          await eventually(`${name} is back`, () => reported('is back'), { timeoutMs: 60_000 });
          return performance.now() - ended;
        },
      };
    },
    /**
     * Waits until nothing is queued, running or unpublished, and answers what is wrong then, one sentence each: every fault
     * test ends with `t.deepEqual(await settled(), [])`. What is left after all that time is reported the same way.
     * @param options.repeats How often a model may have been asked once more than attempts say, beyond the replicas that
     * were killed since the mesh had settled the last time. Default 0.
     */
    async settled({ timeoutMs = 60_000, repeats = 0 } = {}): Promise<string[]> {
      for (const deadline = performance.now() + timeoutMs; ; await delay(lookAgainMs)) {
        // What cannot be read meanwhile, because a server is just coming back, is asked again.
        const found = await problems(repeats).catch((error: unknown) => [String(error)]);
        if (found.length === 0 || performance.now() > deadline) return found;
      }
    },
    stop: () => started.disposeAsync(),
  };
}
