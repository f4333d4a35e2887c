import { addressesOf, planReplicas, portSettings, type Replica } from '@parley/mesh/replicas';
import { containerOf, environmentOf, ofKind, requiredValues, sampleSecret, unitOf } from '../../chart/environment.ts';
import { type Manifest, render } from '../../chart/render.ts';

export type ChartEnvironment = Awaited<ReturnType<typeof chartEnvironment>>;

type Container = NonNullable<ReturnType<typeof containerOf>>;

/** What the chart gives to its containers, with ports and addresses of this machine. @param engines the settings of its servers. */
export async function chartEnvironment(engines: Record<string, string>) {
  const replicas = (await planReplicas()).flat().filter(({ name }) => name.endsWith('-1'));
  const open = Object.entries(engines).filter(([name]) => /^(KAFKA_BROKERS|S3_(?!SECRET))/u.test(name));
  const config = { ...requiredValues.config, ...Object.fromEntries(open) };
  const manifests = await render(undefined, { ...requiredValues, config, 'migrations.topicReplication': 1 });
  const units = replicas.map((replica) => {
    const container = containerOf(manifests, replica.unit);
    if (!container) throw new Error(`the chart has no ${replica.unit}`);
    const { data } = environmentOf(manifests, replica.unit);
    const here = { ...portSettings(replica), ...addressesHere(data, replicas) };
    const env = { ...data, ...secretsOf(container, engines), ...here };
    return { name: replica.unit, ports: replica.ports, env, limitMb: limitOf(container) };
  });
  return {
    /** In the order in which they start. */
    units,
    /** What it gives to the container of the hook that `migrate`s, or that makes `topics`. */
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

/** What comes from the Secret: addresses and logins of the servers, and what a container does not start without. */
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

/** The addresses of other units in this environment, as they are here. */
function addressesHere(data: Record<string, string>, replicas: Replica[]): Record<string, string> {
  const addresses = Object.keys(data).flatMap((name) => {
    const [, unit, endpoint] = /^([A-Z]+)_(RPC|GRAPH)_URL$/u.exec(name) ?? [];
    if (unit === undefined) return [];
    const isGraph = endpoint === 'GRAPH';
    const [address] = addressesOf(replicas, unit.toLowerCase(), isGraph ? 'graph' : 'rpc');
    return [[name, `${isGraph ? 'http://' : ''}${address}`] as const];
  });
  return Object.fromEntries(addresses);
}
