import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { entryPoint, imageEnvironment } from '../dockerfile.ts';

export interface ImageProcessOptions {
  /** The unit's name, which is also the name of its folder below `imageFolder`. */
  name: string;
  args?: string[];
  env: Record<string, string>;
  /** The memory limit of the unit's container. */
  limitMb: number;
  /** The folder that becomes `/etc`, which configures name resolution. Requires `hasNamespaces`. */
  etc?: string;
}

/** The user of processes in containers. Only root can switch to it; if another user runs the tests, images run as that user. */
const user = process.getuid?.() === 0 ? { uid: 10_001, gid: 10_001 } : {};
const namespaces = ['--mount', '--pid', '--fork', '--kill-child=SIGKILL', '--propagation', 'private'];
const tmpMb = 512;
/** Interval between measurements of the processes' memory. */
const lookAgainMs = 500;

/** Reports whether this user may run processes in their own namespaces. */
export function hasNamespaces(): boolean {
  return spawnSync('unshare', [...namespaces, 'true']).status === 0;
}

/**
 * Starts an image as its container would: by its entry point, with only this environment, as the user of containers, and with one writable
 * folder. With `etc` the process also has its own read-only root and is process 1 (`pod.sh`). The memory limit is not enforced: Node's
 * flags are derived from it, and tests compare `peakMb` with it. The process is killed at the end of the test.
 */
export function startImage(
  t: Pick<ExecutionContext, 'teardown' | 'log' | 'passed'>,
  folder: string,
  { name, args = [], env, limitMb, etc }: ImageProcessOptions,
) {
  const tree = join(folder, name);
  const [, ...entry] = entryPoint(limitMb);
  const started = [...entry, ...args];
  const own = { ...imageEnvironment(), ...env };
  const child = etc === undefined ? startBare(folder, tree, started, own) : startPod(folder, tree, started, own, etc);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => code ?? signal);
  const main = () => (etc === undefined ? child.pid : childrenOf(child.pid)[0]);
  let peak = 0;
  const look = () => {
    const pid = main();
    if (pid !== undefined) peak = Math.max(peak, memoryMb(pid, 'VmHWM'), treeMb(pid));
  };
  const looking = setInterval(look, lookAgainMs).unref();
  void ended.then(() => clearInterval(looking));
  t.teardown(async () => {
    // A pod changes its user, which clears the kernel's parent-death signal.
    const [pod] = etc === undefined ? [] : childrenOf(child.pid);
    if (pod !== undefined) process.kill(pod, 'SIGKILL');
    child.kill('SIGKILL');
    await ended;
    if (!t.passed) t.log(name, output.split('\n').slice(-20).join('\n'));
  });
  return {
    /** Returns the output so far. */
    output: () => output,
    /** Resolves to the exit code, or to the signal that ended the process. */
    ended,
    stop(): void {
      const pid = main();
      if (pid !== undefined) process.kill(pid, 'SIGTERM');
    },
    /** Returns the peak memory of the process and its children, in MB. */
    peakMb(): number {
      look();
      return peak;
    },
    /** Resolves when this URL returns 200. @throws Error with the output if the process ends first */
    async answers(url: string): Promise<void> {
      const end = new AbortController();
      void ended.then(() => end.abort());
      while (!(await fetch(url).catch(() => undefined))?.ok) {
        if (end.signal.aborted) throw new Error(`${name} has ended:\n${output}`);
        await delay(100);
      }
    },
  };
}

const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];

function startBare(folder: string, cwd: string, args: string[], env: Record<string, string>) {
  const tmp = mkdtempSync(join(folder, 'tmp-'));
  if (user.uid) chownSync(tmp, user.uid, user.gid);
  const own = Object.entries(env).map(([key, value]) => [key, value.replace(/^\/tmp(?=\/|$)/u, tmp)]);
  return spawn(join(folder, 'node'), args, { ...user, cwd, env: { ...Object.fromEntries(own), TMPDIR: tmp }, stdio });
}

function startPod(folder: string, tree: string, args: string[], env: Record<string, string>, etc: string) {
  const pod = [join(import.meta.dirname, 'pod.sh'), tree, etc, join(folder, 'node'), String(tmpMb)];
  const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const contained = ['unshare', ...namespaces, 'sh', ...pod, ...args];
  return spawn('setpriv', ['--pdeathsig', 'KILL', ...contained], { env: { PATH, ...env }, stdio });
}

function childrenOf(pid: number | undefined): number[] {
  return readProcess(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

/** Returns the current resident memory of a process and its children, in MB. */
function treeMb(pid: number): number {
  return memoryMb(pid, 'VmRSS') + childrenOf(pid).reduce((sum, child) => sum + treeMb(child), 0);
}

function memoryMb(pid: number, field: 'VmHWM' | 'VmRSS'): number {
  const [, kb = 0] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'mu').exec(readProcess(pid, 'status')) ?? [];
  return Number(kb) / 1024;
}

/** Returns the content of a file in `/proc`; empty if the process has ended. */
function readProcess(pid: number | undefined, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
