import { randomInt } from 'node:crypto';
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { TcpProxy } from '@parley/mesh/tcp-proxy';
import { waves } from '@parley/units';
import type { ExecutionContext } from 'ava';
import type { ChartPod, ChartRelease } from './chart-release.ts';
import { startImage } from './image-process.ts';

/** An installed version. */
export interface Release {
  name: string;
  /** The folder of the version's images. */
  folder: string;
  chart: ChartRelease;
}

interface Pod {
  name: string;
  unit: string;
  address: string;
  chart: ChartPod;
  process: ReturnType<typeof startImage>;
}

/** The record of a pod's end. */
export interface PodEnd {
  pod: string;
  /** The exit code (0 if the pod ended normally), or the signal that ended the pod. */
  how: unknown;
  /** The time from SIGTERM to the end of the process. */
  tookMs: number;
  /** The time that the chart's grace period allows. */
  allowedMs: number;
  peakMb: number;
  limitMb: number;
}

/** The delay until the nodes of a cluster know that a pod has become ready or is stopping. */
const endpointsAfterMs = 1_000;
/**
 * How long clients cache the DNS's answers. CoreDNS allows up to 30 s; a shorter time suffices here, because pods also count as available
 * sooner than in a real cluster.
 */
const dnsAfterMs = 3_000;

/**
 * Does on this machine what a Kubernetes cluster does with the chart. Services balance connections. The name of a headless Service resolves
 * to the addresses of all pods. Deployments are replaced pod by pod, with readiness probes, `preStop` and grace periods. A pod is a process
 * in its own namespaces (`pod.sh`) with an address of the loopback range, so that it uses the chart's ports and names.
 */
export async function startCluster(t: ExecutionContext, services: ChartRelease['services']) {
  const pods = new Set<Pod>();
  const ended: PodEnd[] = [];
  let numbers = 0;
  // The prefix of the pods' addresses within 127.0.0.0/8. On most machines, most of this range is unused.
  const network = `127.${randomInt(16, 255)}`;
  const balancers = new Map<string, { proxy: TcpProxy; address: string }>();
  const etc = mkdtempSync(join(tmpdir(), 'parley-etc-'));
  t.teardown(() => rmSync(etc, { recursive: true }));
  chmodSync(etc, 0o755);
  const write = (file: string, text: string) => {
    writeFileSync(join(etc, `.${file}`), text);
    renameSync(join(etc, `.${file}`), join(etc, file));
  };
  write('host.conf', 'multi on\n');
  write('nsswitch.conf', 'hosts: files\n');
  write('resolv.conf', '');

  for (const { name, port, isHeadless } of services) {
    if (isHeadless) continue;
    const address = `${network}.255.${balancers.size + 1}`;
    const proxy = await new TcpProxy([], { host: address, port, passesOver: false }).open();
    t.teardown(() => proxy.close());
    balancers.set(name, { proxy, address });
  }

  /** The pod addresses that the DNS returns for each headless Service. */
  const names = new Map<string, string[]>();
  const addressesOf = (unit: string) => [...ready].filter((pod) => pod.unit === unit).map(({ address }) => address);
  /** Ready pods, to which Services route. */
  const ready = new Set<Pod>();

  function writeNames(): void {
    const fixed = [...balancers].map(([name, { address }]) => [address, name]);
    const headless = [...names].flatMap(([name, addresses]) => addresses.map((address) => [address, name]));
    write('hosts', [...fixed, ...headless].map((line) => `${line.join(' ')}\n`).join(''));
  }

  /** Publishes the current pods of a unit to nodes and to DNS, each after its own delay. */
  function publish(unit: string, { atOnce = false } = {}): void {
    const addresses = addressesOf(unit);
    const own = services.filter((service) => service.unit === unit);
    const balance = () => {
      for (const { name, targetPort } of own) {
        const [pod] = [...pods].filter((each) => each.unit === unit);
        const port = pod?.chart.ports[targetPort];
        balancers.get(name)?.proxy.retarget(addresses.map((address) => `${address}:${port}`));
      }
    };
    const name = () => {
      for (const { name: service, isHeadless } of own) if (isHeadless) names.set(service, addresses);
      writeNames();
    };
    if (atOnce) {
      balance();
      name();
    } else {
      setTimeout(balance, endpointsAfterMs).unref();
      setTimeout(name, dnsAfterMs).unref();
    }
  }

  function create({ name, folder }: Release, chart: ChartPod): Pod {
    numbers += 1;
    const address = `${network}.${numbers >> 8}.${numbers & 255}`;
    const env = { ...chart.env, PARLEY_HOST: address };
    const process = startImage(t, folder, { name: chart.unit, env, limitMb: chart.limitMb, etc });
    const pod = { name: `${chart.unit} ${numbers} (${name})`, unit: chart.unit, address, chart, process };
    pods.add(pod);
    return pod;
  }

  const becomesReady = ({ process, address, chart }: Pod) =>
    process.answers(`http://${address}:${chart.ports['ops']}/readyz`);

  /** Removes a pod as the kubelet does: while the Services are still being updated. */
  async function remove(pod: Pod): Promise<void> {
    const { name, unit, chart, process } = pod;
    ready.delete(pod);
    publish(unit);
    await delay(chart.preStopSeconds * 1_000);
    const begun = performance.now();
    process.stop();
    const how = await process.ended;
    pods.delete(pod);
    ended.push({
      pod: name,
      how,
      tookMs: performance.now() - begun,
      allowedMs: (chart.graceSeconds - chart.preStopSeconds) * 1_000,
      peakMb: process.peakMb(),
      limitMb: chart.limitMb,
    });
  }

  /** Replaces the pods of one Deployment: starts a new pod, and when the new one is available, removes an old one. */
  async function replace(release: Release, unit: string): Promise<void> {
    const chart = podOf(release, unit);
    const removals: Promise<void>[] = [];
    for (const old of [...pods].filter((pod) => pod.unit === unit)) {
      const pod = create(release, chart);
      await becomesReady(pod);
      ready.add(pod);
      publish(unit);
      await delay(chart.minReadySeconds * 1_000);
      removals.push(remove(old));
    }
    await Promise.all(removals);
  }

  return {
    ended: ended as readonly PodEnd[],
    /** The address of the gateways' Service. */
    url: `http://${addressOfGateways()}/graphql`,
    /** Runs a hook of a release. @throws Error with the hook's output if it fails */
    async run({ folder, chart }: Release, job: string): Promise<string> {
      const hook = startImage(t, folder, { name: 'commands', ...chart.hook(job), etc });
      const how = await hook.ended;
      if (how !== 0) throw new Error(`${job} ended with ${String(how)}: ${hook.output()}`);
      return hook.output();
    },
    /** Starts all pods of a release. */
    async install(release: Release): Promise<void> {
      for (const chart of release.chart.pods) {
        for (let n = 0; n < chart.replicas; n += 1) ready.add(create(release, chart));
        publish(chart.unit, { atOnce: true });
      }
      await Promise.all([...pods].map(becomesReady));
    },
    /** Replaces all pods of these units, one unit after the other. Default: all units at once, as Helm does. */
    async upgrade(release: Release, order?: string[]): Promise<void> {
      for (const unit of order ?? []) await replace(release, unit);
      if (!order) await Promise.all(release.chart.pods.map(({ unit }) => replace(release, unit)));
    },
    /** Removes all pods, callers first. */
    async uninstall(): Promise<void> {
      for (const wave of waves.toReversed()) {
        const going = [...pods].filter(({ unit }) => wave.some(({ name }) => name === unit));
        await Promise.all(going.map(remove));
      }
    },
  };

  function addressOfGateways(): string {
    const service = services.find(({ targetPort }) => targetPort === 'public');
    const found = service && balancers.get(service.name);
    if (!found) throw new Error('the gateways have no Service');
    return `${found.address}:${service.port}`;
  }
}

function podOf({ chart }: Release, unit: string): ChartPod {
  const found = chart.pods.find((pod) => pod.unit === unit);
  if (!found) throw new Error(`the chart has no ${unit}`);
  return found;
}
