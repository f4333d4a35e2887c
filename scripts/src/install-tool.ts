import { UnavailableError } from '@parley/servers/exec';
import { foldersOf } from '@parley/servers/folders';
import { ensureInstalled } from '@parley/servers/install';

const { tools } = foldersOf(process.env);

export { tools };

/**
 * A program that the install.sh in `scripts` installs into `folder` below `tools`. A change of the installed files needs a new folder name.
 */
export type Tool = Parameters<typeof ensureInstalled>[0];

/** Installs a program if it is missing. @returns the reason why this machine cannot run the program; undefined if it can */
export async function installTool(tool: Tool, say: (line: string) => void): Promise<string | undefined> {
  const unabortedSignal = new AbortController().signal;
  try {
    await ensureInstalled(tool, { tools, signal: unabortedSignal, say: (text) => say(`${tool.name}: ${text}`) });
    return undefined;
  } catch (error) {
    if (error instanceof UnavailableError) return error.message;
    throw error;
  }
}
