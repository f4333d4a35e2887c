import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '@parley/kernel/config';
import { gatewaysIn, reachable, testEnvironment, type UnitAddresses } from './mesh.ts';

/** What a mesh tells once it is up. */
export interface MeshAddresses {
  units: UnitAddresses;
  /** Of the embedded database. */
  databaseUrl: string;
}

export interface OneProcessOptions {
  dataFolder: string;
  env: Environment;
  /** Starts a second gateway beside the first. */
  secondGateway?: boolean;
  /** Cuts a start short. */
  signal?: AbortSignal;
}

export type MeshProcess = Awaited<ReturnType<typeof startOneProcess>>;

/**
 * Starts a mesh in a process of its own, on a data folder that outlives it, and resolves when it is up. It ends with this process.
 * @throws Error with what it said where it ends instead.
 */
export async function startOneProcess({ dataFolder, env: given, secondGateway, signal }: OneProcessOptions) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  // What a killed one leaves is removed with its data.
  const temporary = join(dataFolder, 'tmp');
  mkdirSync(temporary, { recursive: true, mode: 0o700 });
  const env = { PATH, NODE_COMPILE_CACHE, TMPDIR: temporary, LOG_LEVEL: 'fatal', ...testEnvironment(given) };
  const program = join(import.meta.dirname, 'one-process-child.ts');
  const child = spawn(process.execPath, ['--liftoff-only', program, dataFolder, secondGateway ? '2' : '1'], {
    env,
    detached: true, // Ctrl-C is for whoever started this to act on
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = once(child, 'close').then(([code, by]: (number | string | null)[]) => code ?? by);
  /** Ends it as a power switch does: nothing of it runs any more when this resolves. */
  async function kill(): Promise<void> {
    child.kill('SIGKILL');
    await ended;
  }
  const failed = ended.then((how) => {
    throw new Error(`The mesh ended with ${how} before it was up:\n${errors}`);
  });
  const told = once(child, 'message', signal && { signal });
  const [addresses] = (await Promise.race([told, failed]).catch(async (error: unknown) => {
    await kill();
    throw error;
  })) as [MeshAddresses];
  return {
    ...reachable(gatewaysIn(addresses.units)),
    ...addresses,
    kill,
    /** What it wrote on standard error so far. */
    stderr: () => errors,
    /** Asks it to stop, as an orchestrator or Ctrl-C does. Answers its exit code, or the signal, once it has ended by itself. */
    stop(how: 'SIGTERM' | 'SIGINT' = 'SIGTERM') {
      child.kill(how);
      return ended;
    },
  };
}
