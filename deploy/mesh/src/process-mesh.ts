import { once } from 'node:events';
import type { Environment } from '@parley/kernel/settings/config';
import { ReplicaProcess, type ReplicaProcessOptions } from './replica-process.ts';
import { addressesOf, planReplicas, portSettings, type Replica } from './replicas.ts';
import { type Tap, TcpProxy } from './tcp-proxy.ts';

/** Every unit as one or more processes, which are restarted when they end. */
export type ProcessMesh = Awaited<ReturnType<typeof startOnce>>;

export interface ProcessMeshOptions extends Pick<ReplicaProcessOptions, 'logs' | 'say' | 'backoffMs'> {
  /** The environment of every process: engines, keys, settings. */
  env: Environment;
  /** The port in front of the gateways; 0 takes any free one. */
  publicPort: number;
  /** The port in front of voice. Default: any free one. */
  voicePort?: number;
  /** Cancels the start. */
  signal: AbortSignal;
  /** Changes the environment of one replica last, e.g. to put a proxy between it and others. */
  wire?(replica: Replica, env: Environment): Environment;
  /** Processes the bytes between gateways and the subgraph of a unit. Default: forwards them unchanged. */
  tap?(unit: string): Tap;
  /** Plans the processes, with other ports at each call. Default: `replicas.ts`. */
  plan?(): Promise<Replica[][]>;
}

/** Replicas that still run after this time are killed. With the servers' own stop, the whole stop takes less than 25 s. */
const stopTimeoutMs = 20_000;
/** Written by a replica whose port was taken by another program between the choice of the port and its start. */
const portTaken = /(?:^|: )Port \d+ on \S+ is taken by another program\.$/mu;

/**
 * Starts all units and, once they are ready, opens the port of the gateways' proxy. If another program takes a port
 * meanwhile, it starts again with other ports, at most `replans` times.
 * @throws Error that names the replica that failed.
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

  /** Stops the waves in reverse order: callers before the units they call. Kills what still runs after 20 s. */
  async function stop(): Promise<void> {
    const timer = setTimeout(() => {
      const left = processes.filter((each) => each.pid !== undefined).map(({ name }) => name);
      options.say(`${left.join(', ')} did not stop in time and is killed`);
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
    // There are no calls before the gateways are ready, so that all services can start at the same time.
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
    /** In front of all gateways. */
    publicPort: front.port,
    /** In front of voice. */
    voicePort: voiceFront.port,
    stop,
    kill,
  };
}
