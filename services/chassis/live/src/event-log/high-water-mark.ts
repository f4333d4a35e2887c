import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { hasCode } from '@parley/kernel/errors';

/** Time in ms for which each write reserves ids in advance; also the shortest time between two writes. */
const AHEAD_MS = 10_000;

/**
 * Stores an upper bound of the ids in a file, so that ids grow across restarts even when the clock steps back. Throws when the file has
 * other content. Writes synchronously, because an id must not be used before its reservation is on disk; this takes less than a millisecond
 * every ten seconds.
 */
export function highWaterMark(file: string) {
  const startMs = readMark(file);
  let reservedMs = startMs;
  return {
    /** Start of this run's ids, in ms since 1970; earlier runs may have used all lower ids. */
    startMs,
    /** Makes ids of later runs start above `ms`. Writes the file rarely, and always before an id above the reserved bound is used. */
    reserve(ms: number): void {
      if (ms < reservedMs) return;
      const next = ms + AHEAD_MS;
      writeMark(file, next);
      reservedMs = next;
    },
  };
}

function readMark(file: string): number {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0;
    throw error;
  }
  const ms = Number(text.trim());
  if (text.trim() === '' || !Number.isSafeInteger(ms) || ms < 0) {
    throw new Error(`${file} should hold milliseconds since 1970; remove it to start from the clock`);
  }
  return ms;
}

function writeMark(file: string, ms: number): void {
  const draft = `${file}.new`;
  // The file is flushed before the rename, so that a power failure leaves either the old mark or the new one.
  writeFileSync(draft, `${ms}\n`, { mode: 0o600, flush: true });
  renameSync(draft, file);
}
