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
 * Returns the commit before migrations were last added, so that the test runs old code on the current schema. Until the first release,
 * protos may break compatibility. If the current protos are incompatible with that commit, returns the oldest later commit with which they
 * are compatible. If the last commit itself broke compatibility, returns the last commit, which is then upgraded to itself.
 * @throws Error if the history is not available
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
 * Extracts the files of the version from which the test upgrades; they are deleted after the test. The version is the commit that
 * `PARLEY_UPGRADE_FROM` names, else the release before this commit, else the oldest unreleased commit that can be upgraded
 * (`beforeReleases`).
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
