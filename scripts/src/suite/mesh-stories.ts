import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Workspace } from './workspaces.ts';

/** The workspace that has the stories. */
export const storyFolder = 'deploy/stories';

/** Files that stay in one process, and why. Every other one is told on the mesh as well, new ones too. */
export const inOneProcess: Record<string, string> = {
  'test/clean-stop.test.ts': 'stops one process and starts the next on its data folder',
  'test/death-in-turns.test.ts': 'kills one process among its turns',
  'test/invariants.test.ts': 'the checker of invariants, on rows of its own making',
  'test/sudden-death.test.ts': 'kills one process and starts the next on its data folder',
};

export interface MeshStories {
  /** Told with the offline model. */
  offline: string[];
  /** Told with the scripted one. */
  withModel: string[];
  /** Told with the scripted one, while all is logged and traced. */
  observed: string[];
  /** Of those that were asked for, the ones that stay in one process. */
  leftOut: string[];
}

/** Which of a workspace's files are told on the mesh, and how it is to be configured for them. */
export function meshStories(root: string, { folder, files }: Workspace): MeshStories {
  const told = files.filter((file) => /^test\/[^/]+$/u.test(file) && !Object.hasOwn(inOneProcess, file));
  const kindOf = (file: string) => {
    const text = readFileSync(join(root, folder, file), 'utf8');
    if (text.includes('observedMesh(')) return 'observed';
    return text.includes('sharedModel(') ? 'withModel' : 'offline';
  };
  const all = (kind: string) => told.filter((file) => kindOf(file) === kind);
  return {
    offline: all('offline'),
    withModel: all('withModel'),
    observed: all('observed'),
    leftOut: files.filter((file) => Object.hasOwn(inOneProcess, file)),
  };
}
