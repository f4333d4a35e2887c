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
  /** Differences between this machine and its state before `up`; undefined if that state is not known. */
  differences?: string[];
  /** Errors of steps that failed without leaving a process or a network of the cluster. */
  failures: string[];
}

/** What a removal does to this machine. */
export interface Steps {
  /** Stops the processes of an installation outside the cluster. */
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

/** Collects the errors of steps, so that a failing step does not prevent the others. */
class Attempts {
  readonly failures: string[] = [];

  /** @returns the result of the step; undefined if it fails */
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
 * Removes a cluster, or what a killed `up` or `down` has left of one, with its data.
 * @returns undefined if there was nothing
 * @throws the reason of `signal` if it is aborted before the cluster itself is changed; Error if a process or the network of the cluster
 * remains, and with it the state folder
 */
export async function clear(options: ClusterOptions, steps = stepsOf(options)): Promise<Removed | undefined> {
  const { folders, signal } = options;
  const { state } = folders;
  if (!hasBridge() && !existsSync(state)) return undefined;
  const attempts = new Attempts();
  await attempts.run(steps.leave);
  signal.throwIfAborted(); // an installation may still run; from here on, the removal runs to its end
  unmarkUp(folders);
  const before = await attempts.run(() => readTraces(folders));
  if (!(await undo(steps, attempts))) throw new Error(attempts.failures.join('\n'));
  rmSync(state, { recursive: true, force: true, maxRetries: 3 });
  const after = before && (await attempts.run(steps.look));
  return { failures: attempts.failures, ...(before && after && { differences: differences(before, after) }) };
}

/** Undoes a failed start. Keeps the state folder, because it contains the logs. @returns errors of steps that failed */
export async function undoStart(options: ClusterOptions): Promise<string[]> {
  const attempts = new Attempts();
  await undo(stepsOf(options), attempts);
  return attempts.failures;
}

/** @returns whether no process and no network of the cluster remains */
async function undo(steps: Steps, attempts: Attempts): Promise<boolean> {
  const earlier = attempts.failures.length;
  await attempts.run(steps.endProcesses);
  await attempts.run(steps.removeNetwork);
  const isGone = attempts.failures.length === earlier;
  await attempts.run(steps.restoreSysctls);
  return isGone;
}
