import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.ts';
import type { MergedMigrations } from './merged-migrations.ts';
import { previousState } from './previous-state.ts';

const path = 'scripts/src/rolling/migrations.json';

/** The committed list. */
export function readMerged(): MergedMigrations {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}

export function writeMerged(merged: MergedMigrations): void {
  writeFileSync(join(root, path), `${JSON.stringify(merged, undefined, 2)}\n`);
}

/**
 * The list before it last changed; undefined where there is no history or it had none.
 * @throws where `mustCompare` and the history is out of reach.
 */
export function earlierMerged(mustCompare = false): MergedMigrations | undefined {
  const previous = previousState(root, path);
  if ('none' in previous) {
    if (mustCompare && previous.lacks) throw new Error(previous.none);
    return undefined;
  }
  return JSON.parse(execFileSync('git', ['show', `${previous.commit}:${path}`], { cwd: root, encoding: 'utf8' }));
}
