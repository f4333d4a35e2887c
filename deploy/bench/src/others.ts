import { join } from 'node:path';
import { foldersOf } from '@parley/servers/folders';
import { ensureInstalled } from '@parley/servers/install';
import type { BenchOptions } from './processes.ts';

/**
 * Programs with which Parley is compared. They are installed only for the bench. Whoever changes a program's `install.sh` must also change
 * its `folder`.
 */
const programs = {
  langgraph: { title: "LangGraph's Agent Server", version: '0.16.7', folder: 'langgraph-0.16.7-1' },
  hive: { title: 'Hive Gateway', version: '2.15.1', folder: 'hive-gateway-2.15.1-1' },
};

/** Returns the folder of a program's scripts. */
export const scriptsOf = (name: keyof typeof programs) => join(import.meta.dirname, '../others', name);

/**
 * Installs a program if it is missing and returns its folder. Returns undefined if this machine cannot install it; `leaveOut` then receives
 * the reason.
 */
export async function installOther(name: keyof typeof programs, { say, leaveOut }: BenchOptions) {
  const { title, ...program } = programs[name];
  const { tools } = foldersOf(process.env);
  try {
    const said = (text: string) => say(`${title}: ${text}`);
    const signal = new AbortController().signal;
    await ensureInstalled({ ...program, name, scripts: scriptsOf(name) }, { tools, signal, say: said });
    return join(tools, program.folder);
  } catch (error) {
    leaveOut(`${title}: ${error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error)}`);
    return undefined;
  }
}
