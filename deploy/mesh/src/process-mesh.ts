import type { Environment } from '@parley/chassis/config';
import type { Logs } from './logs.ts';
import { type ReplicaProcess, type ReplicaProcessOptions, replicaProcess } from './replica-process.ts';
import { addressesOf, neighbours, planReplicas, portSettings, type Replica } from './replicas.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** Every unit as processes of their own, kept running. */
export interface ProcessMesh {
  replicas: Replica[];
  processes: ReplicaProcess[];
  /** The port in front of all gateways. */
  publicPort: number;
  /** In good order: whoever asks others goes first. Whoever is left after 20 s is killed. */
  stop(): Promise<void>;
  /** At once. */
  kill(): void;
}

export interface ProcessMeshOptions {
  /** What every process gets: engines, keys, settings. */
  env: Environment;
  /** The port in front of the gateways; 0 takes any free one. */
  publicPort: number;
  logs: Logs;
  say(text: string): void;
  /** Ends a start that is under way. */
  signal: AbortSignal;
  /**
   * Has the last word on what one replica is configured with, where the other units are included: for whoever puts something
   * between it and them. Default: nothing is changed.
   */
  wire?(replica: Replica, env: Environment): Environment | Promise<Environment>;
  /** The pauses before restarts, as `replicaProcess` has them. */
  backoffMs?: ReplicaProcessOptions['backoffMs'];
  /** Which processes there are, each time with other ports. Default: those of `replicas.ts`. */
  plan?(): Promise<Replica[][]>;
}

/** With the servers' own end, a stop stays below 25 s. */
const stopPatienceMs = 20_000;

/** How often ports are chosen anew. */
const replans = 2;
/** Says a replica that finds its port taken: by a program that came between the choice of the port and its start. */
const portTaken = /: Port \d+ on \S+ is taken by another program\.$/mu;

/** Starts all units and, once they are ready, opens the port in front of the gateways. @throws Error that names who failed. */
export async function startProcessMesh(options: ProcessMeshOptions): Promise<ProcessMesh> {
  for (let tries = 0; ; tries++) {
    try {
      return await startOnce(options);
    } catch (error) {
      const mayRetry = error instanceof Error && portTaken.test(error.message) && !options.signal.aborted;
      if (!mayRetry || tries === replans) throw error;
      options.say(`${error.message} All start again on other ports.`);
    }
  }
}

async function startOnce({
  env,
  publicPort,
  logs,
  say,
  signal,
  wire = (_replica, settings) => settings,
  backoffMs,
  plan = planReplicas,
}: ProcessMeshOptions): Promise<ProcessMesh> {
  const waves = await plan();
  const replicas = waves.flat();
  const proxies: TcpProxy[] = [];
  const graphUrls: Record<string, string> = {};
  for (const unit of new Set(replicas.flatMap(({ unit, ports }) => (ports.graph === undefined ? [] : [unit])))) {
    const addresses = addressesOf(replicas, unit, 'graph');
    let [address] = addresses;
    if (addresses.length > 1) {
      const proxy = await startTcpProxy(addresses);
      proxies.push(proxy);
      address = `127.0.0.1:${proxy.port}`;
    }
    graphUrls[unit] = `http://${address}`;
  }

  const shared = { ...env, ...neighbours(replicas, graphUrls) };
  const processOf = async (replica: Replica) =>
    replicaProcess({
      name: replica.name,
      main: replica.main,
      env: await wire(replica, { ...shared, ...portSettings(replica) }),
      readyUrl: `http://127.0.0.1:${replica.ports.ops}/readyz`,
      logs,
      say,
      ...(backoffMs && { backoffMs }),
    });
  const running = await Promise.all(waves.map((wave) => Promise.all(wave.map(processOf))));
  const processes = running.flat();
  const kill = () => {
    for (const each of processes) each.kill();
  };

  async function stop(): Promise<void> {
    const timer = setTimeout(() => {
      const left = processes.filter((each) => each.pid() !== undefined).map(({ name }) => name);
      say(`${left.join(', ')} did not stop in time and is killed`);
      kill();
    }, stopPatienceMs);
    await front?.close();
    for (const wave of running.toReversed()) await Promise.all(wave.map((each) => each.stop()));
    clearTimeout(timer);
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }

  let front: TcpProxy | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    const cut = () => reject(signal.reason instanceof Error ? signal.reason : new Error('The start was cut short'));
    signal.addEventListener('abort', cut, { once: true });
  });
  aborted.catch(() => undefined);
  try {
    const gateways = running.at(-1) ?? [];
    // Nobody asks before a gateway does, so that the services may come up all at the same time.
    for (const wave of [running.slice(0, -1).flat(), gateways]) {
      signal.throwIfAborted();
      await Promise.race([Promise.all(wave.map((each) => each.start())), aborted]);
    }
    front = await startTcpProxy(addressesOf(replicas, 'gateway', 'public'), { port: publicPort });
  } catch (error) {
    await stop();
    throw error;
  }
  return { replicas, processes, publicPort: front.port, stop, kill };
}
