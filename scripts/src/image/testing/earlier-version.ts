import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from '@parley/kernel/config';
import { commandSettings } from '@parley/units/command-settings';
import type { ExecutionContext } from 'ava';
import { previousState } from '../../history.ts';
import { root } from '../../root.ts';

/** Part of the test of upgrades: versions without it were not held to what that demands. */
const promise = 'scripts/src/image/testing/pod.sh';

/**
 * The files of the version that an upgrade begins with, deleted after the test: of the commit that `PARLEY_UPGRADE_FROM` names, else
 * of the state before migrations were last added, so that the code of then meets the schema of now; where that has no such test
 * yet, of the commit that added it. @throws Error where that is the version that is here
 */
export function earlierVersion(t: ExecutionContext): { commit: string; folder: string } {
  const { upgradeFrom } = readSettings(process.env, commandSettings);
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const before = previousState(root, 'scripts/src/rolling/migrations.json').commit;
  const isHeldTo = before !== undefined && git('ls-tree', before, promise) !== '';
  const commit = upgradeFrom ?? (isHeldTo ? before : git('log', '-1', '--diff-filter=A', '--format=%H', '--', promise));
  if (commit === '' || git('diff', '--name-only', commit, '--', 'services', 'gateway') === '') {
    throw new Error(
      'There is no earlier version to upgrade from. Name a commit by PARLEY_UPGRADE_FROM, or fetch more of the history',
    );
  }
  const folder = mkdtempSync(join(tmpdir(), 'parley-earlier-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  execFileSync('tar', ['-x', '-C', folder], {
    input: execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 }),
  });
  return { commit: git('show', '-s', '--format=%h %s', commit), folder };
}
