import type { Kubectl } from '../../src/install/kubectl.ts';

const script = `fetch('http://127.0.0.1:9464/metrics').then((answer) => answer.text()).then((text) => console.log(text))`;

/** Returns the number of calls that a pod has served for other units so far, over gRPC and as a subgraph, according to its metrics. */
export async function callsServedBy(kubectl: Kubectl, pod: string): Promise<number> {
  const text = await metricsOf(kubectl, pod);
  return sumOf(text, 'parley_rpc_duration_seconds_count') + sumOf(text, 'parley_graph_duration_seconds_count');
}

/** Returns a pod's metrics in Prometheus' format. */
export function metricsOf(kubectl: Kubectl, pod: string): Promise<string> {
  return kubectl.run(['exec', pod, '--', 'node', '-e', script]);
}

/** Returns the sum of a metric over all its labels. */
export function sumOf(text: string, name: string): number {
  return [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gmu'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );
}
