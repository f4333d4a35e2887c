import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import type { EngineName } from '@parley/servers/engine';
import { startServers } from '@parley/servers/start-servers';
import { unabortedSignal } from '@parley/servers/testing/folder';
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

/** Whether fault tests run at full length, as with `scripts/test --faults`. */
export const fullLength = process.env.PARLEY_FAULTS === 'full';

/** Leases and deadlines for the short form. They are shorter than the default ones, which must be able to expire at full length. */
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

/** The pause between checks, each of which reads all rows. */
const lookAgainMs = 1_000;

/** The folder where logs are kept after the mesh has stopped. */
const { faultLogs: keptLogs } = readSettings(process.env, commandSettings);

export interface FaultMeshOptions extends Pick<ProcessesOptions, 'wire' | 'tap'> {
  /** Settings of every unit. They override the settings of the tests. */
  env?: Environment;
}

/** A mesh of processes on private servers, with functions that cause faults. */
export type FaultMesh = Awaited<ReturnType<typeof startFaultMesh>>;

let shared: Promise<FaultMesh> | undefined;
let wanted: FaultMeshOptions = {};

/**
 * Returns a function that provides one mesh for all tests of a process. The first test that needs the mesh starts it, with the combined
 * options of all test files. Each test must restore the mesh.
 */
export function sharedFaultMesh(test: TestFn, options: FaultMeshOptions = {}): () => Promise<FaultMesh> {
  wanted = { ...wanted, ...options };
  test.after.always('the mesh stops', async () => (await shared?.catch(() => undefined))?.stop());
  return () => {
    shared ??= startFaultMesh(wanted);
    return shared;
  };
}

/** Starts servers, schemas, topics, a model and all units. If a step fails, everything already started is stopped. */
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
    HOSTED_SMALL_MODEL_MODEL: 'gpt-4o-mini', // a model with a price
    EMBEDDINGS_URL: embeddings.url,
    ...servers.env,
    ...(!fullLength && shortSettings),
    LOG_LEVEL: process.env.LOG_LEVEL ?? (keptLogs ? 'info' : 'warn'),
    ...env,
  };
  /** The proxy through which session and evaluation reach their database. */
  const toPostgres = await postgresLine(servers.env.DATABASE_URL ?? '');
  closers.defer(() => toPostgres.close());
  /** The proxy through which the parser reaches the object store. */
  const toObjects = await objectLine(servers.env.S3_ENDPOINT ?? '');
  closers.defer(() => toObjects.close());

  const logFolder = join(keptLogs ?? tmpdir(), `parley-faults-${randomUUID()}`);
  if (!keptLogs) closers.defer(() => rmSync(logFolder, { recursive: true, force: true }));
  const environments = new Map<string, Environment>();
  const { replicas, processes, publicPort, units, checker, logs, said, stop } = await startProcesses({
    settings,
    logFolder,
    signal: unabortedSignal,
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
    backoffMs: { first: 500, longest: 1_000 }, // short, because some replicas are killed repeatedly
  });
  closers.defer(async () => void (await stop()));

  const ledger = createLedger();
  const poison: string[] = [];
  /** Model requests that arrived before the last successful check; repeated requests are listed once. */
  let asked: ReceivedRequest[] = [];
  /** Number of model requests that have been checked. */
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

  /** Returns the work that remains. If no work remains, returns the violated invariants. */
  async function problems(repeats: number): Promise<string[]> {
    const remainingWork = await checker.remainingWork();
    if (remainingWork.length > 0) return remainingWork;
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
    // Clients connect to the proxy in front of both gateways.
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
    /** The embeddings server that knowledge calls. */
    embeddings,
    database: checker.database,
    kafka: { brokers: (servers.env.KAFKA_BROKERS ?? '').split(',') },
    /** The complete settings of each replica. */
    environments,
    /** Ids of the events that are expected in the dead letters. */
    poison,
    pid,
    /** Sends a request to the operations port of a replica. */
    ops,
    rows: () => readRows(checker.database),
    /** Reports whether the replica is ready; false also if it does not respond. */
    isReady: (name: string) =>
      ops(name, '/readyz')
        .then(({ ok }) => ok)
        .catch(() => false),
    /** Returns the value of a replica's metric, summed over all labels. */
    async metric(name: string, metric: string): Promise<number> {
      const text = await (await ops(name, '/metrics')).text();
      const values = text.matchAll(new RegExp(`^${metric}(?:\\{.*\\})? (\\S+)$`, 'gmu'));
      return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
    },
    /** Sends a signal to a replica. Resolves when the replica has ended; the supervisor then restarts it. */
    async kill(name: string, signal: NodeJS.Signals = 'SIGKILL') {
      const from = said.length;
      const reported = (what: string) => said.slice(from).find((line) => line.startsWith(`${name} ${what}`));
      const begun = performance.now();
      process.kill(pid(name), signal);
      kills += 1;
      const line = await eventually(`${name} ends`, () => reported('has ended'), { timeoutMs: 40_000 });
      const ended = performance.now();
      return {
        /** How the replica ended: `SIGKILL`, or `exit code 0`. */
        how: /\((.+?)\)/u.exec(line)?.[1],
        /** Time from the signal to the end of the process. */
        endedAfterMs: ended - begun,
        /** Resolves when the replica is ready again. @returns the time since the replica ended, in ms */
        async back(): Promise<number> {
          await eventually(`${name} is back`, () => reported('is back'), { timeoutMs: 60_000 });
          return performance.now() - ended;
        },
      };
    },
    /**
     * Waits until nothing is queued, running or unpublished, and returns the violated invariants, one sentence each. Every fault test ends
     * with `t.deepEqual(await settled(), [])`. Work that remains after the timeout is returned in the same form.
     * @param options.repeats number of additional model requests that are allowed. Always allowed are one request for each recorded
     * attempt, and one for each replica that was killed since the mesh last settled. Default 0
     */
    async settled({ timeoutMs = 60_000, repeats = 0 } = {}): Promise<string[]> {
      for (const deadline = performance.now() + timeoutMs; ; await delay(lookAgainMs)) {
        // A read may fail while a server is restarting. The read is then repeated.
        const found = await problems(repeats).catch((error: unknown) => [String(error)]);
        if (found.length === 0 || performance.now() > deadline) return found;
      }
    },
    stop: () => started.disposeAsync(),
  };
}
