import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '@parley/chassis/config';
import { type Reachable, reachable, testEnvironment, type UnitAddresses } from './mesh.ts';

/** What a mesh tells once it is up. */
export interface MeshAddresses {
  units: UnitAddresses;
  /** Of the embedded database. */
  databaseUrl: string;
}

/** A mesh in a process of its own, on a data folder that outlives it. */
export interface MeshProcess extends Reachable, MeshAddresses {
  /** Ends it as a power switch does: nothing of it runs any more when this resolves. */
  kill(): Promise<void>;
  /** What it wrote on standard error so far. */
  stderr(): string;
  /** Asks it to stop, as an orchestrator or Ctrl-C does, and answers its exit code once it has ended by itself. */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<number | null>;
}

export interface OneProcessOptions {
  dataFolder: string;
  env: Environment;
  /** Starts a second gateway beside the first. */
  secondGateway?: boolean;
  /** Cuts a start short. */
  signal?: AbortSignal;
}

/** Starts one, and resolves when it is up. It ends with this process. @throws Error with what it said where it ends instead. */
export async function startOneProcess(options: OneProcessOptions): Promise<MeshProcess> {
  const { dataFolder: path, env: given, secondGateway = false, signal } = options;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  // What a killed one leaves is removed with its data.
  const temporary = join(path, 'tmp');
  mkdirSync(temporary, { recursive: true, mode: 0o700 });
  const env = { PATH, NODE_COMPILE_CACHE, TMPDIR: temporary, LOG_LEVEL: 'fatal', ...testEnvironment(given) };
  const program = join(import.meta.dirname, 'one-process-child.ts');
  const child = spawn(process.execPath, ['--liftoff-only', program, path, secondGateway ? '2' : '1'], {
    env,
    detached: true, // Ctrl-C is for whoever started this to act on
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const kill = () => killed(child);
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = once(child, 'exit').then(([code, by]) => {
    throw new Error(`The mesh ended with ${code ?? by} before it was up:\n${errors}`);
  });
  ended.catch(() => undefined); // once it is up, its end is the affair of whoever asked for it
  const told = once(child, 'message', signal && { signal });
  const [addresses] = (await Promise.race([told, ended]).catch(async (error: unknown) => {
    await kill();
    throw error;
  })) as [MeshAddresses];

  const { gateway, 'gateway-2': second } = addresses.units;
  const gateways = [gateway, second].flatMap((doors) => (doors?.public ? [`${doors.public}/graphql`] : []));
  return {
    ...reachable(gateways),
    ...addresses,
    stderr: () => errors,
    kill,
    async stop(how = 'SIGTERM') {
      if (hasEnded(child)) throw new Error(`It has ended already:\n${errors}`);
      const exit = once(child, 'exit');
      child.kill(how);
      const [code] = (await exit) as [number | null];
      return code;
    },
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function killed(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
