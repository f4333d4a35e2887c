import type { Writable } from 'node:stream';

const maxUnreadBytes = 1024 * 1024;
const flushTimeoutMs = 1_000;

/**
 * Writes log lines at once, because the last lines before a kill matter most, and never blocks. When the reader is more than 1 MiB behind,
 * lines are dropped, and a later line reports how many. A closed reader is no error. (pino's own output either blocks on a stalled reader
 * or retries for ever on a closed one.)
 */
export function lineOutput(out: Writable) {
  let dropped = 0;
  out.on('error', () => undefined); // the reader has closed the pipe
  out.on('drain', () => {
    if (dropped === 0) return;
    const line = droppedLines(dropped, 'the reader was too slow');
    dropped = 0;
    out.write(line);
  });

  return {
    write(line: string): void {
      if (!out.writable) return;
      if (out.writableLength > maxUnreadBytes) dropped += 1;
      else out.write(line);
    },
    /** Calls back when all lines are written, or after a second. */
    flush(done: () => void): void {
      if (!out.writable || out.writableLength === 0) return done();
      const finish = () => {
        clearTimeout(timer);
        out.off('drain', finish);
        done();
      };
      const timer = setTimeout(finish, flushTimeoutMs);
      out.on('drain', finish);
    },
  };
}

/** Makes a log line with the number of dropped lines. */
export function droppedLines(lines: number, why: string): string {
  const line = { level: 'warn', time: new Date().toISOString(), lines, msg: `log lines dropped: ${why}` };
  return `${JSON.stringify(line)}\n`;
}
