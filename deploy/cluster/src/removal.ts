import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { endGroups } from './cgroups.ts';
import type { ClusterOptions } from './cluster-options.ts';
import type { ClusterFolders } from './folders.ts';
import { hasBridge, removeHostNetwork } from './host-network.ts';
import { leave } from './install/leave.ts';
import { command } from './process.ts';
import { restoreSysctls } from './sysctls.ts';
import { differences, lookForTraces, type Traces } from './traces.ts';
import { unmarkUp } from './up-mark.ts';
import { readJson, writeJson } from './whole-file.ts';

export interface Removed {
  /** Differences between this machine's state now and before `up`; undefined if one of the two states could not be read. */
  differences?: string[];
  /**
   * The errors of failed steps. All processes and networks of the cluster were removed nevertheless; otherwise the removal itself fails.
   */
  failures: string[];
}

/** The steps of a removal, which change or read the state of this machine. */
export interface Steps {
  /** Stops an installation's processes that run outside the cluster. */
  leave(): Promise<void>;
  endProcesses(): Promise<void>;
  removeNetwork(): Promise<void>;
  restoreSysctls(): void;
  look(): Promise<Traces>;
}

const nft = ({ tools }: ClusterFolders) => command(tools, 'packages', 'nft');
const look = (folders: ClusterFolders) => lookForTraces({ ...folders, nft: nft(folders) });
const tracesOf = ({ state }: ClusterFolders) => join(state, 'before.json');
const readTraces = (folders: ClusterFolders) => readJson<Traces>(tracesOf(folders));
export const sysctlsOf = ({ state }: ClusterFolders) => join(state, 'sysctls.json');

/** Stores the state of this machine before a cluster changes it. */
export async function keepTraces(folders: ClusterFolders): Promise<void> {
  writeJson(tracesOf(folders), await look(folders));
}

function stepsOf({ folders, signal, say }: ClusterOptions): Steps {
  return {
    leave: () => leave(folders, { signal, say }),
    endProcesses: endGroups,
    removeNetwork: () => removeHostNetwork(nft(folders)),
    restoreSysctls: () => restoreSysctls(sysctlsOf(folders)),
    look: () => look(folders),
  };
}

/** Collects the errors of steps, so that the other steps run even if one fails. */
class Attempts {
  readonly failures: string[] = [];

  /** Runs a step. @returns its result; undefined if it fails */
  async run<T>(step: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      this.failures.push(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }
}

/**
 * Removes a cluster with its data, or what remains of a cluster whose `up` or `down` was killed.
 * @returns undefined if there was nothing to remove
 * @throws the reason of `signal` if it is aborted before the cluster itself is changed
 * @throws Error if a process or the network of the cluster remains; the state folder then remains, too
 */
export async function clear(options: ClusterOptions, steps = stepsOf(options)): Promise<Removed | undefined> {
  const { folders, signal } = options;
  const { state } = folders;
  if (!hasBridge() && !existsSync(state)) return undefined;
  const attempts = new Attempts();
  await attempts.run(steps.leave);
  signal.throwIfAborted(); // while an installation still runs, the removal can be aborted; after this line it cannot
  unmarkUp(folders);
  const before = await attempts.run(() => readTraces(folders));
  if (!(await undo(steps, attempts))) throw new Error(attempts.failures.join('\n'));
  rmSync(state, { recursive: true, force: true, maxRetries: 3 });
  const after = before && (await attempts.run(steps.look));
  return { failures: attempts.failures, ...(before && after && { differences: differences(before, after) }) };
}

/** Undoes a failed start. Keeps the state folder, because it contains the logs. @returns the errors of the steps that failed */
export async function undoStart(options: ClusterOptions): Promise<string[]> {
  const attempts = new Attempts();
  await undo(stepsOf(options), attempts);
  return attempts.failures;
}

/** Ends the processes, removes the network and restores the kernel settings. @returns whether processes and network were removed */
async function undo(steps: Steps, attempts: Attempts): Promise<boolean> {
  const earlier = attempts.failures.length;
  await attempts.run(steps.endProcesses);
  await attempts.run(steps.removeNetwork);
  const isGone = attempts.failures.length === earlier;
  await attempts.run(steps.restoreSysctls);
  return isGone;
}
