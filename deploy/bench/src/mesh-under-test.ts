import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { upFlags } from '@parley/scripts/testing/mesh-process';
import { root } from '@parley/servers/root';

/** `scripts/up` as a process of its own. */
export interface MeshUnderTest {
  pid: number;
  /** The GraphQL endpoint. */
  url: string;
  /** Those of each gateway, where there are several. */
  gatewayUrls: string[];
  /** From its spawn until it said that it is up. */
  startMs: number;
  /** Its resident memory now. */
  memoryMb(): number;
  /** Answers how long that took. */
  stop(): Promise<number>;
}

export interface MeshOptions {
  folder: string;
  env: Record<string, string>;
  /** Of `scripts/up`. */
  args?: string[];
  /** Where it leaves a CPU profile when it stops. */
  profileFolder?: string;
}

export async function startMesh({ folder, env, profileFolder, args = [] }: MeshOptions): Promise<MeshUnderTest> {
  const startedAt = performance.now();
  const profiling = profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : [];
  const child = spawn(process.execPath, [...upFlags, ...profiling, join(root, 'scripts/src/up.ts'), ...args], {
    env: { ...process.env, PARLEY_DATA_DIR: folder, GATEWAY_PORT: '0', STORAGE_PORT: '0', LOG_FILE: '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  const banner = await bannerOf(child.stdout.setEncoding('utf8'));
  const startMs = performance.now() - startedAt;
  const [url, ...gatewayUrls] = banner.match(/http:\/\/\S+\/graphql/gu) ?? [];
  if (!url) throw new Error(`The mesh did not come up: ${banner}`);

  return {
    pid: child.pid ?? 0,
    url: url.replace('localhost', '127.0.0.1'), // one lookup less, with the same answer
    gatewayUrls,
    startMs,
    memoryMb: () => memoryMb(child.pid ?? 0),
    async stop() {
      const before = performance.now();
      child.kill('SIGTERM');
      await ended;
      process.off('exit', kill);
      return performance.now() - before;
    },
  };
}

/** What it says until it is up, or until its end. What it says later is read, too, so that it can. */
function bannerOf(output: Readable): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    output.on('data', (piece: string) => {
      text += piece;
      if (text.includes('Stop with')) resolve(text);
    });
    output.once('end', () => resolve(text));
  });
}

/** NaN where the system does not tell. */
function memoryMb(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}
