// What ava.config.mjs takes from the last run and tells of this one. Plain JavaScript, because ava loads it.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Milliseconds that each test file took when it last ran, by its path in the checkout. The runner writes it. */
export const timesFile = join(root, 'node_modules/.cache/parley/test-times.json');

/** Those times; empty before the first run. */
export function readTimes() {
  try {
    return JSON.parse(readFileSync(timesFile, 'utf8'));
  } catch {
    return {};
  }
}

let times;

/** Orders test files. One that was never timed comes first, because it may be a long one. */
export function slowestFirst(one, other) {
  times ??= readTimes();
  const timeOf = (file) => times[relative(root, file)] ?? Number.MAX_SAFE_INTEGER;
  return timeOf(other) - timeOf(one) || one.localeCompare(other);
}

/** Sends what becomes of each test and file to the process that started ava, where that listens. */
export async function observeRun({ events }) {
  for await (const event of events) {
    if (process.connected && event.type !== 'stats') process.send(event);
  }
}
