import { join } from 'node:path';
import { type Node, nodesOf } from './addresses.ts';
import type { ClusterFolders } from './folders.ts';
import { readJson, writeJson } from './whole-file.ts';

const fileOf = ({ state }: Pick<ClusterFolders, 'state'>) => join(state, 'nodes.json');

/** Stores the number of nodes. */
export function writeNodes(folders: Pick<ClusterFolders, 'state'>, nodes: Node[]): void {
  writeJson(fileOf(folders), { count: nodes.length });
}

/** Returns the nodes of the cluster; an empty list if there is no cluster. */
export function readNodes(folders: Pick<ClusterFolders, 'state'>): Node[] {
  return nodesOf(readJson<{ count: number }>(fileOf(folders))?.count ?? 0);
}
