import { once } from 'node:events';
import type { Environment } from '@parley/kernel/settings/config';
import { ReplicaProcess, type ReplicaProcessOptions } from './replica-process.ts';
import { addressesOf, planReplicas, portSettings, type Replica } from './replicas.ts';
import { type Tap, TcpProxy } from './tcp-proxy.ts';

/** A mesh with one or more processes for each unit, restarted when they end. */
export type ProcessMesh = Awaited<ReturnType<typeof startOnce>>;

export interface ProcessMeshOptions extends Pick<ReplicaProcessOptions, 'logs' | 'say' | 'backoffMs'> {
  /** The environment of every process: engines, keys, settings. */
  env: Environment;
  /** The public port of all gateways. 0: any free port. */
  publicPort: number;
  /** The public port of voice. Default: any free port. */
  voicePort?: number;
  /** Cancels the start. */
  signal: AbortSignal;
  /** Returns a changed environment for one replica, e.g. with a proxy between it and other units. */
  wire?(replica: Replica, env: Environment): Environment;
  /** Processes the bytes between gateways and the subgraph of a unit. Default: forwards them unchanged. */
  tap?(unit: string): Tap;
  /** Plans the processes. Each call returns different ports. Default: `planReplicas`. */
  plan?(): Promise<Replica[][]>;
}

/** Replicas that still run after this time are killed. Stopping everything, including the servers, takes less than 25 s. */
const stopTimeoutMs = 20_000;
/** Matches the message of a replica whose port was taken by another program between the choice of the port and the start. */
const portTaken = /(?:^|: )Port \d+ on \S+ is taken by another program\.$/mu;

/**
 * Starts all units and, once they are ready, opens the port of the gateways' proxy. If another program takes a port meanwhile, starts again
 * with other ports, at most `replans` times.
 * @throws Error that names the replica that failed
 */
export async function startProcessMesh(options: ProcessMeshOptions, replans = 2): Promise<ProcessMesh> {
  try {
    return await startOnce(options);
  } catch (error) {
    const mayRetry = error instanceof Error && portTaken.test(error.message) && !options.signal.aborted;
    if (!mayRetry || replans === 0) throw error;
    options.say(`${error.message} Starting again on other ports.`);
    return startProcessMesh(options, replans - 1);
  }
}

async function startOnce(options: ProcessMeshOptions) {
  const { signal, wire = (_replica, own) => own, tap = () => ({}), plan = planReplicas, ...rest } = options;
  const waves = await plan();
  const replicas = waves.flat();
  const env = { ...options.env };
  const front = new TcpProxy(addressesOf(replicas, 'gateway', 'public'), { port: options.publicPort });
  const voiceFront = new TcpProxy(addressesOf(replicas, 'voice', 'public'), { port: options.voicePort ?? 0 });
  const voiceInside = await new TcpProxy(addressesOf(replicas, 'voice', 'public')).open();
  env['VOICE_HTTP_URL'] = `http://127.0.0.1:${voiceInside.port}`;
  const proxies = [front, voiceFront, voiceInside];
  for (const unit of new Set(replicas.map((replica) => replica.unit))) {
    const [rpc, graph] = [addressesOf(replicas, unit, 'rpc'), addressesOf(replicas, unit, 'graph')];
    if (rpc.length > 0) env[`${unit.toUpperCase()}_RPC_URL`] = rpc.join(',');
    if (graph.length === 0) continue;
    const proxy = await new TcpProxy(graph, { tap: () => tap(unit) }).open();
    proxies.push(proxy);
    env[`${unit.toUpperCase()}_GRAPH_URL`] = `http://127.0.0.1:${proxy.port}`;
  }
  const running = waves.map((wave) =>
    wave.map((replica) => {
      const readyUrl = `http://127.0.0.1:${replica.ports.ops}/readyz`;
      return new ReplicaProcess({
        ...rest,
        ...replica,
        readyUrl,
        env: wire(replica, { ...env, ...portSettings(replica) }),
      });
    }),
  );
  const processes = running.flat();
  /** Sends SIGKILL to all processes. */
  const kill = () => {
    for (const each of processes) each.kill();
  };

  /** Stops the waves in reverse order: callers before the units they call. Kills processes that still run after 20 s. */
  async function stop(): Promise<void> {
    const timer = setTimeout(() => {
      const remaining = processes.filter((each) => each.pid !== undefined).map(({ name }) => name);
      options.say(`${remaining.join(', ')} did not stop in time and is killed`);
      kill();
    }, stopTimeoutMs);
    await Promise.all([front.close(), voiceFront.close()]);
    for (const wave of running.toReversed()) await Promise.all(wave.map((each) => each.stop()));
    clearTimeout(timer);
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }

  try {
    const cut = once(signal, 'abort').then(() => signal.throwIfAborted());
    cut.catch(() => undefined);
    // No requests arrive before the gateways are ready, so all services can start at the same time.
    for (const wave of [running.slice(0, -1).flat(), running.at(-1) ?? []]) {
      signal.throwIfAborted();
      await Promise.race([Promise.all(wave.map((each) => each.start())), cut]);
    }
    await front.open();
    await voiceFront.open();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    replicas,
    processes,
    /** The port of the proxy in front of all gateways. */
    publicPort: front.port,
    /** The port of the proxy in front of voice. */
    voicePort: voiceFront.port,
    stop,
    kill,
  };
}
