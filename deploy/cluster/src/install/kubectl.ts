import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { adminKubeconfig, type ClusterFolders } from '../folders.ts';
import { command } from '../process.ts';

export type Kubectl = ReturnType<typeof openKubectl>;

export interface RunOptions {
  /** What is written to its stdin. */
  input?: string;
  signal?: AbortSignal;
}

/** What kubectl shows of a pod, as far as it is read here. */
export interface Pod {
  metadata: { name: string; labels: Record<string, string>; deletionTimestamp?: string; creationTimestamp: string };
  spec: { nodeName?: string; containers: { name: string; image: string }[] };
  status: {
    phase: string;
    podIP?: string;
    conditions?: { type: string; status: string; lastTransitionTime: string }[];
    containerStatuses?: {
      ready: boolean;
      restartCount: number;
      containerID?: string;
      state?: Record<string, { reason?: string }>;
    }[];
  };
}

/** Whether it takes requests. A pod that goes does no longer. */
export function isReady({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp === undefined && readySince({ status }) !== undefined;
}

/** When it became ready, as a time of day; undefined while it is not. */
export function readySince({ status }: Pick<Pod, 'status'>): Date | undefined {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? new Date(ready.lastTransitionTime) : undefined;
}

/** The unit that a pod runs. */
export const unitOf = ({ metadata }: Pod) => metadata.labels['app.kubernetes.io/component'] ?? '';

/** kubectl as the administrator of the cluster, in one namespace. */
export function openKubectl(folders: ClusterFolders, namespace: string) {
  const program = command(folders.tools, 'kubernetes', 'kubectl');
  const kubeconfig = adminKubeconfig(folders);
  const common = ['--kubeconfig', kubeconfig, '--namespace', namespace];
  const run = (args: string[], options: RunOptions = {}) => runProgram(program, [...common, ...args], options);
  return {
    namespace,
    kubeconfig,
    run,
    /** One or all objects of a kind, as JSON. */
    get: async <T>(...args: string[]): Promise<T> => JSON.parse(await run(['get', ...args, '--output', 'json'])),
    /** @param unit default: all. */
    async pods(unit?: string): Promise<Pod[]> {
      const ofUnit = unit === undefined ? '' : `,app.kubernetes.io/component=${unit}`;
      const args = ['get', 'pods', '--selector', `app.kubernetes.io/name=parley${ofUnit}`, '--output', 'json'];
      return (JSON.parse(await run(args)) as { items: Pod[] }).items;
    },
    apply: (manifest: object) => run(['apply', '--filename', '-'], { input: JSON.stringify(manifest) }),
  };
}

/** @returns its stdout. @throws Error with what it wrote where it fails */
export async function runProgram(program: string, args: string[], { input, signal }: RunOptions = {}): Promise<string> {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(signal && { signal, killSignal: 'SIGKILL' as const }),
  });
  const ended = once(child, 'close');
  child.stdin.on('error', () => undefined); // it has ended, and its code says why
  child.stdin.end(input ?? '');
  const [stdout, stderr, [code, by]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code === 0) return stdout;
  throw new Error(
    `${program} ${args.slice(4, 8).join(' ')} ended with ${code ?? by}\n${(stdout + stderr).slice(-3000)}`,
  );
}
