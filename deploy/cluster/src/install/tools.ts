import { join } from 'node:path';
import { engines } from '@parley/servers/engines';
import { UnavailableError } from '@parley/servers/exec';
import { ensureInstalled, type Installed, type InstallOptions } from '@parley/servers/install';
import { root } from '@parley/servers/root';

/** Programs that build images and install the chart. The cluster itself does not need them. */
const tools = {
  builder: { version: '1', folder: 'builder-1-2', scripts: join(import.meta.dirname, '../../programs/builder') },
  // The chart's tests use the same version and install script.
  helm: { version: '4.3.1', folder: 'helm-4.3.1-1', scripts: join(root, 'scripts/src/chart/helm') },
};

export type ToolName = keyof typeof tools;

/** Installs a tool if it is missing, and returns its folder. @throws UnavailableError that names what this machine lacks */
export async function ensureTool(name: ToolName, options: InstallOptions): Promise<string> {
  const tool = { name, ...tools[name] };
  await ensureInstalled(tool, { ...options, say: (line) => options.say(`${name}: ${line}`) });
  return toolFolder(options.tools, name);
}

/**
 * Installs all missing tools and engines. `install` calls this before it builds images, which takes many minutes.
 * @throws UnavailableError that names everything this machine lacks
 */
export async function ensureToolsAndEngines(options: InstallOptions): Promise<void> {
  const ensure = ({ title, ...program }: Installed & { title: string }) =>
    ensureInstalled(program, { ...options, say: (line) => options.say(`${title}: ${line}`) }).catch(
      (error: unknown) => {
        if (!(error instanceof UnavailableError)) throw error;
        return [`${title}: ${error.message}`];
      },
    );
  const all = [...Object.entries(tools).map(([name, tool]) => ({ name, title: name, ...tool })), ...engines];
  const results = await Promise.allSettled(all.map(ensure));
  const lacks = results.flatMap((result) => (result.status === 'fulfilled' ? (result.value ?? []) : []));
  if (lacks.length > 0) throw new UnavailableError(`This machine lacks:${lacks.map((each) => `\n  ${each}`).join('')}`);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

export function toolFolder(installed: string, name: ToolName): string {
  return join(installed, tools[name].folder);
}
