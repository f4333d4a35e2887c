import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '@parley/chassis/config';
import type { Door } from '@parley/chassis/surroundings';
import { addressesFile } from '@parley/local/addresses-file';

/** A mesh of several processes on real engines, which whoever runs these tests has started for them. */
export interface RunningMesh {
  /** What it was started with; its engines and keys are among it. */
  settings: Environment;
  /** `host:port`, or a base URL, of every replica of a unit. */
  addresses(unit: string, door: Door): string[];
}

/**
 * The mesh that `TEST_MESH` tells of: a JSON file with its settings, of which PARLEY_DATA_DIR leads to its addresses. Undefined
 * where there is none, and every file of tests starts its own in its own process.
 */
export function runningMesh(): RunningMesh | undefined {
  const file = process.env['TEST_MESH'];
  if (!file) return undefined;
  const settings: Environment = JSON.parse(readFileSync(file, 'utf8'));
  const told: Record<string, Partial<Record<Door, string>>> = JSON.parse(
    readFileSync(join(settings['PARLEY_DATA_DIR'] ?? '', addressesFile), 'utf8'),
  );
  return {
    settings,
    addresses(unit, door) {
      // `session` and `session-2` are two of a kind.
      const found = Object.entries(told).flatMap(([name, doors]) =>
        name.replace(/-\d+$/, '') === unit && doors[door] !== undefined ? [doors[door]] : [],
      );
      if (found.length === 0) throw new Error(`The running mesh tells of no ${door} of ${unit}`);
      return found;
    },
  };
}

/** @throws Error where the running mesh has not what a story wants it to have. */
export function checkSettings({ settings }: RunningMesh, wanted: Environment): void {
  for (const [name, value] of Object.entries(wanted)) {
    if (settings[name] === value) continue;
    throw new Error(
      `The running mesh has not the ${name} that this story wants. Either it can do without, or its file stays in one process: see scripts/src/suite/mesh-stories.ts.`,
    );
  }
}
