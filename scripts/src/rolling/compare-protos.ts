import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../root.ts';
import { run } from '../suite/command.ts';
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

const timeoutMs = 120_000;

/** Holds the protos, events included, to the rules of `buf.yaml` about what may change while two versions run together. */
export async function compareProtos({
  checkout = root,
  against,
  mustCompare = false,
}: ComparedProtos = {}): Promise<Comparison> {
  const previous = against === undefined ? previousState(checkout, 'protos/*.proto') : { commit: against };
  if ('none' in previous) {
    return { outcome: mustCompare && previous.lacks ? 'failed' : 'leftOut', said: previous.none };
  }
  const { commit } = previous;
  const folder = mkdtempSync(join(tmpdir(), 'parley-protos-'));
  try {
    // An archive rather than buf's own clone: it asks for no remote, and takes a shortened commit too.
    const archive = join(folder, 'previous.tar');
    const take = ['archive', '--format=tar', `--output=${archive}`, commit, 'protos'];
    const taken = await run({ command: 'git', args: take, cwd: checkout, timeoutMs });
    if (!taken.ok) return { outcome: 'failed', said: `${commit} cannot be read: ${taken.output.trim()}` };
    const args = ['breaking', '--against', `${archive}#subdir=protos`];
    const command = join(root, 'node_modules/.bin/buf');
    const { ok, output } = await run({ command, args, cwd: join(checkout, 'protos'), timeoutMs });
    if (ok) return { outcome: 'passed', said: `nothing breaks what ran at ${commit.slice(0, 12)}` };
    return { outcome: 'failed', said: `compared with ${commit.slice(0, 12)}:\n${output.trim()}` };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
