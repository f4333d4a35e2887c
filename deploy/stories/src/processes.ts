import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '@parley/chassis/config';
import { addressesFile } from '@parley/local/addresses-file';
import { root } from '@parley/servers/root';
import type { UnitAddresses } from './mesh.ts';

/** `scripts/up --mesh` as stories want it. */
export interface Processes {
  units: UnitAddresses;
  /** The files with the log of each process, as a pattern. */
  logs: string;
  /** Resolves when all of it is gone. @returns what it did that no mesh should: processes that ended by themselves, a bad end. */
  stop(): Promise<string[]>;
}

export interface ProcessesOptions {
  /** Empty, and its own. */
  folder: string;
  /** Its engines, its keys, and whatever else it is to be configured with. */
  settings: Environment;
  /** Cuts a start short. */
  signal: AbortSignal;
  /** What is run instead of `scripts/up`, in tests. */
  program?: string;
}

const startTimeoutMs = 180_000;

/**
 * Starts it, and resolves when it is up. It ends with this process, however that ends.
 * @throws Error with what it said where it does not come up; then nothing of it is left.
 */
export async function startProcesses(options: ProcessesOptions): Promise<Processes> {
  const { folder, settings, signal, program = join(root, 'scripts/src/up.ts') } = options;
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const endWithParent = join(root, 'deploy/mesh/src/end-with-parent.ts');
  const child = spawn(process.execPath, ['--import', endWithParent, program, '--mesh'], {
    cwd: root,
    env: { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...settings, PARLEY_DATA_DIR: data },
    detached: true, // Ctrl-C is for whoever started this to act on
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let said = '';
  const up = Promise.withResolvers<void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('Stop with Ctrl-C')) up.resolve();
    });
  }
  const ended = once(child, 'close').then(([code, by]: unknown[]) => by ?? code);
  void ended.then(() => up.reject(new Error('It has ended')));
  const cut = AbortSignal.any([signal, AbortSignal.timeout(startTimeoutMs)]);
  cut.addEventListener('abort', () => up.reject(cut.reason));
  if (cut.aborted) up.reject(cut.reason);

  let asked = false;
  async function stop(): Promise<string[]> {
    if (!asked) child.kill('SIGTERM'); // a second one would kill what is still at its work
    asked = true;
    const how = await ended;
    const fell = said.split('\n').filter((line) => / has ended /u.test(line));
    return how === 0 ? fell : [...fell, `scripts/up --mesh ended with ${String(how)}: ${said}`];
  }

  try {
    await up.promise;
  } catch (error) {
    await stop();
    throw new Error(`scripts/up --mesh did not come up: ${said.trim()}`, { cause: error });
  }
  const units: UnitAddresses = JSON.parse(readFileSync(join(data, addressesFile), 'utf8'));
  return { units, logs: join(data, 'mesh/logs/*-[0-9].log'), stop };
}
