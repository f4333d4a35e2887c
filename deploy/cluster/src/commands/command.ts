import type { ClusterFolders } from '../folders.ts';

/** What a command of `scripts/cluster` gets. */
export interface CommandOptions {
  folders: ClusterFolders;
  /** The command's arguments after its name. */
  args: string[];
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** Reports progress, to stderr. */
  say(line: string): void;
  /** Writes a result, to stdout. */
  print(text: string): void;
}

/** @returns the exit code. */
export type Command = (options: CommandOptions) => Promise<number>;

/** Wrong arguments: the usage is shown. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
