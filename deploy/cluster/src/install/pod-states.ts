import { isReady, type Kubectl, type Pod, unitOf } from './kubectl.ts';

const lines = 6;

/** Describes the state of each pod, with the last log lines of pods that are not ready. */
export async function podStates(kubectl: Kubectl): Promise<string> {
  const pods = await kubectl.pods();
  const logs = pods.filter((pod) => !isReady(pod)).map((pod) => lastLines(kubectl, pod));
  return [...pods.map(stateOf), ...(await Promise.all(logs))].join('\n');
}

function stateOf(pod: Pod): string {
  const { metadata, spec, status } = pod;
  const [container] = status.containerStatuses ?? [];
  const reasons = Object.entries(container?.state ?? {}).map(([state, { reason }]) => reason ?? state);
  const restarts = container?.restartCount ? `, ${container.restartCount} restarts` : '';
  const going = metadata.deletionTimestamp ? ', is deleted' : '';
  const ready = isReady(pod) ? 'ready' : 'not ready';
  return `${metadata.name} on ${spec.nodeName ?? 'no node'}: ${status.phase}, ${ready} (${reasons.join()})${restarts}${going}`;
}

async function lastLines(kubectl: Kubectl, pod: Pod): Promise<string> {
  const { name } = pod.metadata;
  const read = (...args: string[]) =>
    kubectl.run(['logs', name, `--tail=${lines}`, ...args]).catch((error: unknown) => String(error));
  const [container] = pod.status.containerStatuses ?? [];
  const before = container?.restartCount ? `\n--- before its restart\n${await read('--previous')}` : '';
  return `--- log of ${unitOf(pod)}, ${name}\n${await read()}${before}`;
}

/**
 * Runs `work` with a timeout. If it fails or times out, the error also describes the states of all pods.
 * @param work receives a signal that is aborted at the timeout
 */
export async function withinTime<T>(
  kubectl: Kubectl,
  what: string,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new Error(`${what}: not within ${timeoutMs / 1000} s`));
    over.abort();
  }, timeoutMs);
  try {
    return await Promise.race([work(over.signal), late.promise]);
  } catch (error) {
    const states = await podStates(kubectl).catch((problem: unknown) => `no states of pods: ${problem}`);
    throw new Error(`${error instanceof Error ? error.message : error}\n${states}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
