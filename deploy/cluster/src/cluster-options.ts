import type { ClusterFolders } from './folders.ts';

export interface ClusterOptions {
  folders: ClusterFolders;
  signal: AbortSignal;
  /** Reports progress. */
  say(line: string): void;
}
