import { existsSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { SettingsError } from '../settings/config.ts';
import { droppedLines, lineOutput } from './line-output.ts';

/** Maximum buffered bytes: the rest of a line that a full disk truncated, and some more lines. */
const maxUnwrittenBytes = 64 * 1024;

/**
 * Appends log lines to a file at once, because the last lines before a kill matter most. Lines that cannot be written, as on a full disk,
 * are retried with the next line. Beyond 64 KiB lines are dropped, and a later line reports how many. Standard error reports when writing
 * fails and when it works again.
 * @throws SettingsError when the file cannot be opened.
 */
export function fileOutput(path: string) {
  const file = opened(path);
  let unwritten = Buffer.alloc(0);
  let dropped = 0;
  let isFailing = false;

  function writeAll(): void {
    try {
      while (unwritten.length > 0) unwritten = unwritten.subarray(writeSync(file, unwritten));
      if (isFailing) report(`Log lines are written to ${path} again; ${dropped} were lost.`);
      isFailing = false;
    } catch (error) {
      if (!isFailing) report(`Log lines cannot be written to ${path}: ${messageOf(error)}`);
      isFailing = true;
    }
  }

  function write(line: string): void {
    if (isFailing) writeAll();
    if (isFailing && unwritten.length > maxUnwrittenBytes) {
      dropped += 1;
      return;
    }
    const counted = !isFailing && dropped > 0 ? droppedLines(dropped, 'the file could not be written') : '';
    if (counted) dropped = 0;
    unwritten = Buffer.concat([unwritten, Buffer.from(counted + line)]);
    if (!isFailing) writeAll();
  }

  return { write };
}

function opened(path: string): number {
  try {
    makeFolder(dirname(path));
    return openSync(path, 'a', 0o600);
  } catch (error) {
    throw new SettingsError([`LOG_FILE: ${messageOf(error)}`]);
  }
}

/** Makes the folder without `recursive`, because `mkdirSync` with `recursive` never returns within /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    if (!existsSync(folder)) throw error; // another process has just made it
  }
}

let standardError: ReturnType<typeof lineOutput> | undefined;

/** Writes to standard error without blocking or throwing, because standard error may be on the full disk too. */
function report(line: string): void {
  standardError ??= lineOutput(process.stderr);
  standardError.write(`${line}\n`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
