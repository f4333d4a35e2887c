import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { adminKubeconfig, type ClusterFolders, clientEnv } from '../folders.ts';
import { command } from '../process.ts';

export type Kubectl = ReturnType<typeof openKubectl>;

export interface RunOptions {
  /** Text for the program's stdin. */
  input?: string;
  signal?: AbortSignal;
}

interface ProgramOptions extends RunOptions {
  /** The program's environment. It inherits no other variables of this process. */
  env: NodeJS.ProcessEnv;
}

/** The fields of a pod that are used here. */
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

/** Reports whether a pod receives requests. A pod that is being deleted does not. */
export function isReady({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp === undefined && readySince({ status }) !== undefined;
}

/** Returns the time at which a pod became ready; undefined if it is not ready. */
export function readySince({ status }: Pick<Pod, 'status'>): Date | undefined {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? new Date(ready.lastTransitionTime) : undefined;
}

/** Returns the name of the unit that a pod runs. */
export const unitOf = ({ metadata }: Pod) => metadata.labels['app.kubernetes.io/component'] ?? '';

/** Runs kubectl as the cluster's administrator, in one namespace. */
export function openKubectl(folders: ClusterFolders, namespace: string) {
  const program = command(folders.tools, 'kubernetes', 'kubectl');
  const kubeconfig = adminKubeconfig(folders);
  const common = ['--kubeconfig', kubeconfig, '--namespace', namespace];
  const env = clientEnv(folders);
  const run = (args: string[], options: RunOptions = {}) =>
    runProgram(program, [...common, ...args], { ...options, env });
  return {
    namespace,
    kubeconfig,
    run,
    /** Returns one object, or a list of all objects of a kind. */
    get: async <T>(...args: string[]): Promise<T> => JSON.parse(await run(['get', ...args, '--output', 'json'])),
    /**
     * Lists pods.
     * @param unit lists only this unit's pods; default: the pods of all units
     */
    async pods(unit?: string): Promise<Pod[]> {
      const ofUnit = unit === undefined ? '' : `,app.kubernetes.io/component=${unit}`;
      const args = ['get', 'pods', '--selector', `app.kubernetes.io/name=parley${ofUnit}`, '--output', 'json'];
      return (JSON.parse(await run(args)) as { items: Pod[] }).items;
    },
    apply: (manifest: object) => run(['apply', '--filename', '-'], { input: JSON.stringify(manifest) }),
  };
}

/** Runs a program and returns its stdout. @throws Error with the program's output if it fails */
export async function runProgram(
  program: string,
  args: string[],
  { input, signal, env }: ProgramOptions,
): Promise<string> {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env,
    ...(signal && { signal, killSignal: 'SIGKILL' as const }),
  });
  const ended = once(child, 'close');
  child.stdin.on('error', () => undefined); // ignored: the program has ended, and its exit code shows why
  child.stdin.end(input ?? '');
  const [stdout, stderr, [code, by]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code === 0) return stdout;
  throw new Error(
    `${program} ${args.slice(4, 8).join(' ')} ended with ${code ?? by}\n${(stdout + stderr).slice(-3000)}`,
  );
}
