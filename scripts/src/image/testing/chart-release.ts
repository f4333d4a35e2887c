import { containerOf, environmentOf, ofKind, requiredValues, sampleSecret, unitOf } from '../../chart/environment.ts';
import { type Manifest, render } from '../../chart/render.ts';

type Container = NonNullable<ReturnType<typeof containerOf>>;

/** The chart's output for one version: its pods, services and hooks. */
export type ChartRelease = Awaited<ReturnType<typeof chartRelease>>;
export type ChartPod = ChartRelease['pods'][number];
export type ChartService = ChartRelease['services'][number];

export interface ChartReleaseOptions {
  /** The settings of the release's servers. Secret settings come from the Secret. */
  engines: Record<string, string>;
  /** Additional settings in the chart's `config`. */
  config?: Record<string, string>;
  /** Additional values of the chart besides its settings, by their paths. */
  values?: object;
  /** The chart's folder. Default: the chart of this checkout. */
  chart?: string;
}

/** Renders the chart for servers on this machine. */
export async function chartRelease({ engines, config = {}, values = {}, chart }: ChartReleaseOptions) {
  const open = Object.entries(engines).filter(([name]) => /^(KAFKA_BROKERS|S3_(?!SECRET))/u.test(name));
  const configured = { ...requiredValues.config, ...Object.fromEntries(open), ...config };
  const topics = { 'migrations.topicReplication': 1 };
  const manifests = await render(undefined, { ...requiredValues, ...topics, ...values, config: configured }, chart);
  const scalers = ofKind(manifests, 'HorizontalPodAutoscaler');
  return {
    pods: ofKind(manifests, 'Deployment').map((deployment) => {
      const unit = unitOf(deployment);
      const container = containerOf(manifests, unit) as Container;
      const { replicas, minReadySeconds = 0, template } = deployment.spec;
      return {
        unit,
        replicas: replicas ?? scalers.find((each) => unitOf(each) === unit)?.spec.minReplicas ?? 1,
        env: { ...environmentOf(manifests, unit).data, ...secretsOf(container, engines) },
        limitMb: limitOf(container),
        ports: Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort])),
        minReadySeconds,
        preStopSeconds: Number(container.lifecycle.preStop.exec.command[1]),
        graceSeconds: template.spec.terminationGracePeriodSeconds,
      };
    }),
    services: ofKind(manifests, 'Service').map((service) => {
      const { clusterIP, ports } = service.spec;
      const { name, namespace } = service.metadata;
      const [{ port, targetPort }] = ports;
      return {
        unit: unitOf(service),
        name: `${name}.${namespace}.svc`,
        port,
        targetPort,
        isHeadless: clusterIP === 'None',
      };
    }),
    /** Returns the container of the hook `migrate` or `topics`. */
    hook: (job: string) => hookOf(manifests, job, engines),
  };
}

function hookOf(manifests: Manifest[], job: string, engines: Record<string, string>) {
  const [container] =
    ofKind(manifests, 'Job').find((each) => unitOf(each) === job)?.spec.template.spec.containers ?? [];
  if (!container) throw new Error(`the chart has no hook ${job}`);
  const plain = container.env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]));
  const env = { ...Object.fromEntries(plain), ...secretsOf(container, engines) };
  return { args: container.args ?? [], env, limitMb: limitOf(container) };
}

/** Returns values of the Secret: server addresses, logins, and settings without which a container does not start. */
function secretsOf({ env }: Container, engines: Record<string, string>): Record<string, string> {
  const needed = env.filter(({ name, value, valueFrom }) => {
    return value === undefined && (name in engines || !valueFrom.secretKeyRef.optional);
  });
  return Object.fromEntries(needed.map(({ name }) => [name, engines[name] ?? sampleSecret(name)]));
}

function limitOf({ resources }: Container): number {
  const { memory = '' } = resources.limits;
  return Number.parseFloat(memory) * (memory.endsWith('Gi') ? 1024 : 1);
}
