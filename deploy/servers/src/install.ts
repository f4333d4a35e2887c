import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from './engine.ts';
import { exec } from './exec.ts';

export interface InstallOptions {
  tools: string;
  signal: AbortSignal;
  say(line: string): void;
}

/** A program that can be installed: an engine, or another program with its own scripts. */
export type Installed = Pick<Engine, 'folder' | 'version' | 'scripts'> & {
  name: string;
  /** Approximate duration of the installation, in minutes. Default: 2. */
  minutes?: number;
};

/** The folder of the scripts of all engines. */
export const scriptFolder = join(import.meta.dirname, '../engines');

export function scriptsOf({ scripts, name }: Pick<Installed, 'scripts' | 'name'>): string {
  return scripts ?? join(scriptFolder, name);
}

export function isInstalled({ folder }: Pick<Installed, 'folder'>, tools: string): boolean {
  return existsSync(join(tools, folder));
}

/**
 * Installs a program if it is missing. The script and its children hold the lock, so that a second installation waits until all processes
 * of an interrupted one have ended.
 * @throws UnavailableError that names what this machine lacks
 */
export async function ensureInstalled(engine: Installed, { tools, signal, say }: InstallOptions): Promise<void> {
  if (isInstalled(engine, tools)) return;
  const { folder, version, minutes = 2 } = engine;
  const start = performance.now();
  say(`installing version ${version}, about ${minutes} min`);
  mkdirSync(tools, { recursive: true });
  const target = join(tools, folder);
  const env = { ...process.env, LC_ALL: 'C.UTF-8', SCRIPTS: scriptsOf(engine), VERSION: version };
  await exec('flock', ['-F', `${target}.lock`, 'sh', join(scriptFolder, 'install.sh'), target], { env, signal });
  say(`installed version ${version} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}
