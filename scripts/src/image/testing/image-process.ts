import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { entryPoint, imageEnvironment } from '../dockerfile.ts';

export interface ImageProcessOptions {
  /** Of the unit, below the folder of `imageFolder`. */
  name: string;
  args?: string[];
  env: Record<string, string>;
  /** The memory limit of its container. */
  limitMb: number;
}

/** The user of containers; tests that do not run as root have no other than their own. */
const user = process.getuid?.() === 0 ? { uid: 10_001, gid: 10_001 } : {};

/**
 * Starts an image as its container would: by its entry point, with this environment and no more, as the user of containers, and with
 * one folder that it may write, in place of `/tmp`. It is killed with the test.
 */
export function startImage(
  t: ExecutionContext,
  folder: string,
  { name, args = [], env, limitMb }: ImageProcessOptions,
) {
  const tmp = join(folder, `tmp-${name}`);
  mkdirSync(tmp, { recursive: true });
  if (user.uid) chownSync(tmp, user.uid, user.gid);
  const [, ...entry] = entryPoint(limitMb);
  const own = Object.entries({ ...imageEnvironment(), ...env }).map(([key, value]) => [
    key,
    value.replace(/^\/tmp(?=\/|$)/u, tmp),
  ]);
  const child = spawn(join(folder, 'node'), [...entry, ...args], {
    ...user,
    cwd: join(folder, name),
    env: { ...Object.fromEntries(own), TMPDIR: tmp },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => code ?? signal);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
    if (!t.passed) t.log(output.split('\n').slice(-20).join('\n'));
  });
  return {
    /** What it wrote so far. */
    output: () => output,
    /** Its exit code, or the signal that ended it. */
    ended,
    stop: () => void child.kill('SIGTERM'),
    /** The most memory that it has had, in MB. */
    peakMb(): number {
      const [, peak] = /^VmHWM:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${child.pid}/status`, 'latin1')) ?? [];
      return Number(peak) / 1024;
    },
    /** Resolves when this address answers 200. @throws Error with the output when the process ends before. */
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
