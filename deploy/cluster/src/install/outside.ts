import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { processStart } from '@parley/kernel/processes/process-start';
import { makeDataFolder } from '@parley/servers/folders';
import { freePorts } from '@parley/servers/ports';
import { eventually } from '@parley/testing/eventually';

export const outsideFile = 'outside.json';

/** A process with a model server and a mail server that pods can reach. */
export interface Outside {
  pid: number;
  started: string;
  modelUrl: string;
  /** The settings with which units use the model of this model server, except the server's address. */
  model: Record<string, string>;
  smtpUrl: string;
  password: string;
}

function findOutside(folder: string): Outside | undefined {
  const found = recordIn(folder);
  return found && processStart(found.pid) === found.started ? found : undefined;
}

function recordIn(folder: string): Outside | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, outsideFile), 'utf8'));
  } catch {
    return undefined; // there is no file, or it is damaged
  }
}

/**
 * Starts the process unless it already runs. It runs until `stopOutside` is called. Concurrent calls are not safe.
 * @param host the address on which the model server and the mail server listen
 */
export async function startOutside(folder: string, host: string): Promise<Outside> {
  makeDataFolder(folder);
  const running = findOutside(folder);
  if (running) return running;
  rmSync(join(folder, outsideFile), { force: true });
  const ports = await freePorts(2, host);
  const log = openSync(join(folder, 'outside.log'), 'a', 0o600);
  const args = [join(import.meta.dirname, 'outside-process.ts'), folder, host, ...ports.map(String)];
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: folder,
  });
  closeSync(log);
  child.unref();
  return eventually('the model and the mail server listen', () => findOutside(folder), { timeoutMs: 60_000 });
}

/** Stops the process if it runs. */
export async function stopOutside(folder: string): Promise<void> {
  const running = findOutside(folder);
  if (!running) return;
  process.kill(running.pid, 'SIGTERM');
  await eventually('the model has ended', () => processStart(running.pid) !== running.started);
  rmSync(join(folder, outsideFile), { force: true });
}
