import { closeSync, fdatasyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';

/** How far ahead of use a reservation reaches, so that the file is written at most this often. */
const AHEAD_MS = 10_000;

/** Milliseconds that no earlier run of this process has given ids beyond. */
export interface HighWaterMark {
  /** Where this run may start: everything below may have been used by an earlier one. */
  readonly startMs: number;
  /** Makes sure that a later run starts above `ms`. Writes the file rarely, before the first use of what it covers. */
  reserve(ms: number): void;
}

/**
 * Remembers in a small file how far ids have gone, so that they never go back across restarts even when the clock
 * does. Throws when the file exists and holds something else. Writes at once rather than later: an id must not leave
 * before its reservation stands, and it takes well under a millisecond every ten seconds.
 */
export function highWaterMark(file: string): HighWaterMark {
  const startMs = readMark(file);
  let reservedMs = startMs;
  return {
    startMs,
    reserve(ms) {
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
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
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
  const descriptor = openSync(draft, 'w', 0o600);
  try {
    writeSync(descriptor, `${ms}\n`);
    fdatasyncSync(descriptor); // before the rename, so that a power cut leaves the old mark or the new one
  } finally {
    closeSync(descriptor);
  }
  renameSync(draft, file);
}
