import { join } from 'node:path';
import { accountFor } from './engine.ts';
import { engines } from './fleet.ts';
import { foldersOf } from './folders.ts';
import { toxiproxy } from './go-tool.ts';
import { ensureInstalled, type InstallOptions, type Tool } from './tool.ts';

/** All that this project installs for itself, servers and other programs. */
export const tools: Tool[] = [...engines.map(({ tool }) => tool), toxiproxy];

export interface ToolOptions extends Pick<InstallOptions, 'signal' | 'say'> {
  env: NodeJS.ProcessEnv;
}

/**
 * Installs a tool where it is missing and answers its folder.
 * @throws UnavailableError where this machine cannot have it.
 */
export async function ensureTool(name: string, { env, signal, say }: ToolOptions): Promise<string> {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`${name}: unknown; there are ${tools.map((each) => each.name).join(', ')}`);
  const account = engines.filter((engine) => engine.tool === tool).map(accountFor)[0];
  return ensureInstalled(tool, { tools: foldersOf(env).tools, signal, say, account });
}

/**
 * The path of a program that is no server, installed where it is missing.
 * @throws UnavailableError where this machine cannot have it.
 */
export async function toolPath(name: 'toxiproxy', options: ToolOptions): Promise<string> {
  return join(await ensureTool(name, options), name);
}
