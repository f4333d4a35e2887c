import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings } from '@parley/kernel/settings/config';
import { commandSettings } from '@parley/units/command-settings';
import type { ExecutionContext } from 'ava';
import { lastRelease, previousState } from '../../history.ts';
import { compareProtos } from '../../rolling/compare-protos.ts';
import { root } from '../../root.ts';

const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

/**
 * The state before migrations were last added, so that the code of then meets the schema of now, or the oldest later one that the
 * protos of now do not break: until the first release they may. Right after they did, that is the last commit, which is then replaced
 * by itself. @throws Error where the history is not available
 */
function beforeReleases(): string {
  const { commit: before } = previousState(root, 'scripts/src/rolling/migrations.json', true);
  if (!before) return 'HEAD';
  const later = git('log', '--reverse', '--format=%H', `${before}..HEAD`, '--', 'protos/*.proto').split('\n');
  return [before, ...later].find((commit) => commit && isHeld(commit)) ?? 'HEAD';
}

function isHeld(commit: string): boolean {
  try {
    compareProtos({ against: commit });
    return true;
  } catch {
    return false;
  }
}

/**
 * The files of the version that an upgrade begins with, deleted after the test: of the commit that `PARLEY_UPGRADE_FROM` names, else
 * of the release before this commit, else of the oldest unreleased state that upgrades (`beforeReleases`).
 */
export function earlierVersion(t: ExecutionContext): { commit: string; folder: string } {
  const { upgradeFrom } = readSettings(process.env, commandSettings);
  const commit = upgradeFrom ?? lastRelease(root, 'HEAD^') ?? beforeReleases();
  const folder = mkdtempSync(join(tmpdir(), 'parley-earlier-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  execFileSync('tar', ['-x', '-C', folder], {
    input: execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 }),
  });
  return { commit: git('show', '-s', '--format=%h %s', commit), folder };
}
