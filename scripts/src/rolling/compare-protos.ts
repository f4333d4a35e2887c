import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../root.ts';
import { previousState } from './previous-state.ts';

/** What came of the comparison, and what a person should read of it. */
export interface Comparison {
  outcome: 'passed' | 'failed' | 'leftOut';
  said: string;
}

export interface ComparedProtos {
  /** The folder whose `protos/` is looked at. Default: this checkout. */
  checkout?: string;
  /** A commit, tag or branch to compare with. Default: the state before the last change (`previous-state.ts`). */
  against?: string | undefined;
  /** Whether history that is out of reach fails, as it must where nobody reads what was left out. Default false. */
  mustCompare?: boolean;
}

const maxBuffer = 64 * 2 ** 20;

/** Holds the protos, events included, to the rules of `buf.yaml` about what may change while two versions run together. */
export function compareProtos({ checkout = root, against, mustCompare = false }: ComparedProtos = {}): Comparison {
  const previous = against === undefined ? previousState(checkout, 'protos/*.proto') : { commit: against };
  if ('none' in previous) {
    return { outcome: mustCompare && previous.lacks ? 'failed' : 'leftOut', said: previous.none };
  }
  const { commit } = previous;
  // An archive rather than buf's own clone: it asks for no remote, and takes a shortened commit too.
  const archive = spawnSync('git', ['archive', '--format=tar', commit, 'protos'], { cwd: checkout, maxBuffer });
  if (archive.status !== 0) return { outcome: 'failed', said: `${commit} cannot be read: ${archive.stderr}`.trim() };
  const { status, stdout, stderr } = spawnSync(
    join(root, 'node_modules/.bin/buf'),
    ['breaking', '--against', '-#format=tar,subdir=protos'],
    { cwd: join(checkout, 'protos'), input: archive.stdout, encoding: 'utf8' },
  );
  if (status === 0) return { outcome: 'passed', said: `nothing breaks what ran at ${commit.slice(0, 12)}` };
  return { outcome: 'failed', said: `compared with ${commit.slice(0, 12)}:\n${stdout}${stderr}`.trim() };
}
