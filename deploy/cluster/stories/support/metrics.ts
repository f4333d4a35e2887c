import type { Kubectl } from '../../src/install/kubectl.ts';

const script = `fetch('http://127.0.0.1:9464/metrics').then((answer) => answer.text()).then((text) => console.log(text))`;

/** What the process of a pod has served other units so far, by gRPC and as a subgraph, by its own metrics. */
export async function callsServedBy(kubectl: Kubectl, pod: string): Promise<number> {
  const text = await metricsOf(kubectl, pod);
  return sumOf(text, 'parley_rpc_duration_seconds_count') + sumOf(text, 'parley_graph_duration_seconds_count');
}

/** Returns what the process of a pod shows as metrics, in the format of Prometheus. */
export function metricsOf(kubectl: Kubectl, pod: string): Promise<string> {
  return kubectl.run(['exec', pod, '--', 'node', '-e', script]);
}

/** The sum of a metric over all its labels. */
export function sumOf(text: string, name: string): number {
  return [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gmu'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );
}
