import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { previousState } from '../history.ts';
import { root } from '../root.ts';

const maxBuffer = 64 * 2 ** 20;

type ComparedProtos = { checkout?: string; against?: string | undefined; mustCompare?: boolean };
type Comparison = { outcome: 'passed' | 'failed' | 'leftOut'; said: string };

/**
 * Checks the protos, including events, against the rules of `buf.yaml` for changes during a rolling update.
 * @param options.checkout The folder whose `protos/` is checked. Default: this checkout.
 * @param options.against A commit, tag or branch to compare with. Default: the state before the last change.
 * @param options.mustCompare Whether unavailable history is a failure instead of a skipped check, as in CI.
 * @returns the result, and a message for the terminal.
 */
export function compareProtos({ checkout = root, mustCompare = false, against }: ComparedProtos = {}): Comparison {
  const previous = against === undefined ? previousState(checkout, 'protos/*.proto') : { commit: against };
  if ('none' in previous) {
    return { outcome: mustCompare && previous.lacks ? 'failed' : 'leftOut', said: previous.none };
  }
  const { commit } = previous;
  // An archive rather than buf's own clone: it needs no remote, and accepts an abbreviated commit, too.
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
