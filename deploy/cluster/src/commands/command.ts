import type { ClusterFolders } from '../folders.ts';

/** The input of a command of `scripts/cluster`. */
export interface CommandOptions {
  folders: ClusterFolders;
  /** The arguments after the command's name. */
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

/** Thrown if the arguments are wrong. The command then prints the usage. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
