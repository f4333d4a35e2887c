import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from '../root.ts';

/** Where the runner keeps how long each test file of a checkout took. */
export function timesFile(checkout: string): string {
  return join(checkout, 'node_modules/.cache/parley/test-times.json');
}

/** Milliseconds that each test file took when it last ran, by its path in the checkout; empty before the first run. */
export function readTimes(checkout: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(timesFile(checkout), 'utf8'));
  } catch {
    return {};
  }
}

let times: Record<string, number> | undefined;

/** How ava orders test files. One that was never timed comes first, because it may be a long one. */
export function slowestFirst(one: string, other: string): number {
  const known = (times ??= readTimes(root));
  const timeOf = (file: string) => known[relative(root, file)] ?? Number.MAX_SAFE_INTEGER;
  return timeOf(other) - timeOf(one) || one.localeCompare(other);
}

/** What ava tells of a run; its own types leave some kinds out. */
export type AvaEvent = { testFile?: string; logs?: string[]; knownFailing?: boolean } & (
  | { type: 'selected-test'; skip: boolean; todo: boolean }
  | { type: 'timeout'; pendingTests: Map<string, Set<string>> }
  | { type: 'worker-finished'; forcedExit: boolean }
  | { type: 'test-passed' | 'test-failed' | 'hook-failed' | 'uncaught-exception' | 'unhandled-rejection' }
  | { type: 'process-exit' | 'worker-failed' | 'internal-error' }
);

/** Sends what becomes of each test and file to the process that started ava, where that listens. */
export async function observeRun({ events }: { events: AsyncIterable<{ type: string }> }): Promise<void> {
  for await (const event of events) {
    if (process.connected && event.type !== 'stats') process.send?.(event);
  }
}
