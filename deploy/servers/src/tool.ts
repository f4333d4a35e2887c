import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Account } from './account.ts';
import { reachableFolder } from './folders.ts';
import { withLock } from './lock.ts';

/** A program that this project installs for itself, in a pinned version. */
export interface Tool {
  name: string;
  version: string;
  /** How long an install takes, in words, where one would wonder. */
  patience?: string;
  /** Why this machine cannot install it, if it cannot. */
  cannotInstall(): Promise<string | undefined>;
  /** Puts it into `target`, which is empty. `scratch` is empty too, or holds what an install left that was cut off. */
  install(folders: { target: string; scratch: string }, signal: AbortSignal): Promise<void>;
}

export interface InstallOptions {
  /** The folder of installed tools. */
  tools: string;
  signal: AbortSignal;
  say(line: string): void;
  /** Who must be able to run it. */
  account?: Account | undefined;
}

/** This machine cannot have that tool, or cannot run it. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
}

/** Where a tool is, or will be. */
export function toolFolder(tool: Tool, tools: string, account?: Account): string {
  mkdirSync(tools, { recursive: true });
  return reachableFolder(tools, `${tool.name}-${tool.version}`, account);
}

export function isInstalled(tool: Tool, tools: string, account?: Account): boolean {
  return existsSync(toolFolder(tool, tools, account));
}

/**
 * Installs a tool where it is missing and answers its folder, which comes into being by a rename when all is done.
 * @throws UnavailableError saying what this machine lacks.
 */
export async function ensureInstalled(tool: Tool, { tools, signal, say, account }: InstallOptions): Promise<string> {
  const folder = toolFolder(tool, tools, account);
  if (existsSync(folder)) return folder;
  const reason = await tool.cannotInstall();
  if (reason) throw new UnavailableError(reason);

  const parent = join(folder, '..');
  mkdirSync(parent, { recursive: true });
  const waiting = () => say(`waiting for another install of ${tool.name}`);
  return withLock(join(parent, `${tool.name}.lock`), { signal, waiting }, async () => {
    if (existsSync(folder)) return folder;
    const start = performance.now();
    say(`installing ${tool.name} ${tool.version}${tool.patience ? `, ${tool.patience}` : ''}`);
    const building = join(parent, `${tool.name}-${tool.version}.building`);
    const target = join(building, 'target');
    const scratch = join(building, 'scratch');
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    mkdirSync(scratch, { recursive: true });
    await tool.install({ target, scratch }, signal);
    writeFileSync(join(target, '.installed'), `${tool.name} ${tool.version}\n`);
    renameSync(target, folder);
    rmSync(building, { recursive: true, force: true });
    say(`installed ${tool.name} ${tool.version} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
    return folder;
  });
}
