import { join } from 'node:path';
import { ensureInstalled, type InstallOptions } from '@parley/servers/install';
import { root } from '@parley/servers/root';

/** Programs that build images and install the chart. The cluster itself does not need them. */
const tools = {
  builder: { version: '1', folder: 'builder-1-1', scripts: join(import.meta.dirname, '../../programs/builder') },
  // The same version and install script as in the chart's tests.
  helm: { version: '4.3.1', folder: 'helm-4.3.1-1', scripts: join(root, 'scripts/src/chart/helm') },
};

export type ToolName = keyof typeof tools;

/** Installs a tool if it is missing, and returns its folder. @throws UnavailableError that names what this machine lacks */
export async function ensureTool(name: ToolName, options: InstallOptions): Promise<string> {
  const tool = { name, ...tools[name] };
  await ensureInstalled(tool, { ...options, say: (line) => options.say(`${name}: ${line}`) });
  return toolFolder(options.tools, name);
}

export function toolFolder(installed: string, name: ToolName): string {
  return join(installed, tools[name].folder);
}
