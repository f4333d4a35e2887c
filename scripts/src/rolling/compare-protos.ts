import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { heldStates } from '../history.ts';
import { root } from '../root.ts';

const maxBuffer = 64 * 2 ** 20;

type ComparedProtos = { checkout?: string; against?: string | undefined; mustCompare?: boolean };

/**
 * Checks the protos, including events, against the rules of `buf.yaml` for changes during a rolling update.
 * @param options.checkout The folder whose `protos/` is checked. Default: this checkout.
 * @param options.against A commit, tag or branch to compare with. Default: the last release, and also the commit before the last change of
 * the protos if that commit is later than the release.
 * @param options.mustCompare Whether unavailable history is an error, as in CI. Otherwise the check is skipped.
 * @returns a message for the terminal, with the reason if the check is skipped.
 * @throws Error with the incompatibilities.
 */
export function compareProtos({ checkout = root, mustCompare = false, against }: ComparedProtos = {}): string {
  const { commits, none } = against ? { commits: [against] } : heldStates(checkout, 'protos/*.proto', mustCompare);
  if (!commits) return `left out: ${none}`;
  if (commits.length === 0) return 'no release yet (no tag v*), so there is nothing to hold';
  for (const commit of commits) compareWith(commit, checkout);
  return `nothing breaks what ran at ${commits.join(' and ')}`;
}

function compareWith(commit: string, checkout: string): void {
  // An archive is used instead of buf's own clone, because it needs no remote and accepts an abbreviated commit.
  const archive = spawnSync('git', ['archive', '--format=tar', commit, 'protos'], { cwd: checkout, maxBuffer });
  if (archive.status !== 0) throw new Error(`${commit} cannot be read: ${archive.stderr}`);
  const { status, stdout, stderr } = spawnSync(
    join(root, 'node_modules/.bin/buf'),
    ['breaking', '--against', '-#format=tar,subdir=protos'],
    { cwd: join(checkout, 'protos'), input: archive.stdout, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`compared with ${commit}:\n${stdout}${stderr}`.trim());
}
