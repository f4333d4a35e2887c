import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '@parley/chassis/config';
import type { ExecutionContext } from 'ava';
import { reachable, testEnvironment } from './mesh.ts';

export interface MeshAddresses {
  /** The public GraphQL address. */
  url: string;
  /** Where each unit tells operators how it is. */
  ops: Record<string, string>;
}

/** A mesh in a process of its own, on a data folder that outlives it. */
export interface MeshProcess extends ReturnType<typeof reachable> {
  ops: MeshAddresses['ops'];
  /** Ends it as a power switch does: nothing of it runs any more when this resolves. */
  kill(): Promise<void>;
  /** What it wrote on standard error so far. */
  stderr(): string;
  /** Asks it to stop, as an orchestrator or Ctrl-C does, and answers its exit code once it has ended by itself. */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<number | null>;
}

/** Something to start meshes on, one after the other: the same data and keys. */
export interface DataFolder {
  /** `more` adds to the folder's environment for this start. */
  start(more?: Environment): Promise<MeshProcess>;
  path: string;
}

const child = fileURLToPath(new URL('mesh-child.ts', import.meta.url));

/** Makes an empty data folder, gone with the test. */
export async function dataFolder(t: ExecutionContext, given: Environment = {}): Promise<DataFolder> {
  const path = await mkdtemp(join(tmpdir(), 'parley-story-'));
  const running = new Set<ChildProcess>();
  t.teardown(async () => {
    await Promise.all([...running].map(killed));
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
  });
  // Its keys stay the same from start to start, as those of `keys.json` do.
  const environment = { PATH: process.env.PATH, LOG_LEVEL: 'fatal', ...testEnvironment(given) };

  return {
    path,
    async start(more = {}) {
      const env = { ...environment, ...more };
      const mesh = spawn(process.execPath, [child, path], { env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
      running.add(mesh);
      mesh.once('exit', () => running.delete(mesh));
      let errors = '';
      mesh.stderr?.setEncoding('utf8').on('data', (text: string) => {
        errors += text;
      });
      const failed = once(mesh, 'exit').then(([code, signal]) => {
        throw new Error(`The mesh ended with ${code ?? signal} before it was up:\n${errors}`);
      });
      const [{ url, ops }] = (await Promise.race([once(mesh, 'message'), failed])) as [MeshAddresses];
      failed.catch(() => undefined); // from here on its end is the test's affair
      return {
        ...reachable(url),
        ops,
        stderr: () => errors,
        kill: () => killed(mesh),
        async stop(signal = 'SIGTERM') {
          if (mesh.exitCode !== null || mesh.signalCode !== null) throw new Error(`It has ended already:\n${errors}`);
          const ended = once(mesh, 'exit');
          mesh.kill(signal);
          const [code] = (await ended) as [number | null];
          return code;
        },
      };
    },
  };
}

async function killed(mesh: ChildProcess): Promise<void> {
  if (mesh.exitCode !== null || mesh.signalCode !== null) return;
  const ended = once(mesh, 'exit');
  mesh.kill('SIGKILL');
  await ended;
}
