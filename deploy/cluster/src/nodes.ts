import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Node, nodesOf } from './addresses.ts';
import type { ClusterFolders } from './folders.ts';

const fileOf = ({ state }: Pick<ClusterFolders, 'state'>) => join(state, 'nodes.json');

/** Stores the number of nodes. */
export function writeNodes(folders: Pick<ClusterFolders, 'state'>, nodes: Node[]): void {
  writeFileSync(fileOf(folders), JSON.stringify({ count: nodes.length }));
}

/** Returns the nodes of the cluster; an empty list if there is no cluster. */
export function readNodes(folders: Pick<ClusterFolders, 'state'>): Node[] {
  if (!existsSync(fileOf(folders))) return [];
  const { count }: { count: number } = JSON.parse(readFileSync(fileOf(folders), 'utf8'));
  return nodesOf(count);
}
