import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '@parley/kernel/settings/config';
import { gatewaysIn, reachable, testEnvironment, type UnitAddresses } from './mesh.ts';

/** The addresses that a mesh reports when it is up. */
export interface MeshAddresses {
  units: UnitAddresses;
  /** The URL of the embedded database. */
  databaseUrl: string;
}

export interface OneProcessOptions {
  dataFolder: string;
  env: Environment;
  /** Whether to start a second gateway. */
  secondGateway?: boolean;
  /** Cancels the start. */
  signal?: AbortSignal;
}

export type MeshProcess = Awaited<ReturnType<typeof startOneProcess>>;

/**
 * Starts a mesh in a child process on a data folder. Resolves when the mesh is up. The child ends with this process.
 * @throws Error with the child's standard error if the child ends before the mesh is up
 */
export async function startOneProcess({ dataFolder, env: given, secondGateway, signal }: OneProcessOptions) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  // A folder inside the data folder, so that the files of a killed process are removed with its data.
  const temporary = join(dataFolder, 'tmp');
  mkdirSync(temporary, { recursive: true, mode: 0o700 });
  const env = { PATH, NODE_COMPILE_CACHE, TMPDIR: temporary, LOG_LEVEL: 'fatal', ...testEnvironment(given) };
  const program = join(import.meta.dirname, 'one-process-child.ts');
  const child = spawn(process.execPath, ['--liftoff-only', program, dataFolder, secondGateway ? '2' : '1'], {
    env,
    detached: true, // the parent handles Ctrl-C
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = once(child, 'close').then(([code, by]: (number | string | null)[]) => code ?? by);
  /** Kills the process. Resolves when it has ended. */
  async function kill(): Promise<void> {
    child.kill('SIGKILL');
    await ended;
  }
  const failed = ended.then((how) => {
    throw new Error(`The mesh ended with ${how} before it was up:\n${errors}`);
  });
  const reported = once(child, 'message', signal && { signal });
  const [addresses] = (await Promise.race([reported, failed]).catch(async (error: unknown) => {
    await kill();
    throw error;
  })) as [MeshAddresses];
  return {
    ...reachable(gatewaysIn(addresses.units)),
    ...addresses,
    kill,
    /** Returns the standard error so far. */
    stderr: () => errors,
    /** Sends the signal. When the process has ended, resolves with its exit code or with the signal that ended it. */
    stop(how: 'SIGTERM' | 'SIGINT' = 'SIGTERM') {
      child.kill(how);
      return ended;
    },
  };
}
