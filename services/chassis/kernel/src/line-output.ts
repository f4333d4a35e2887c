import type { Writable } from 'node:stream';
import type { DestinationStream } from 'pino';

export interface LineOutput extends DestinationStream {
  /** Calls back when all has been handed over, or after a second: whoever ends now loses no more than nobody reads. */
  flush(done: () => void): void;
}

/** What its reader may leave unread before lines are dropped. */
const maxUnreadBytes = 1024 * 1024;
const flushTimeoutMs = 1_000;

/**
 * Where log lines go, at once, since what a process logs just before it is killed matters most, and without ever waiting: a reader
 * that has stalled must not hold up the service, so lines that it leaves unread beyond 1 MiB are dropped, and counted in a line of
 * their own when it goes on. A reader that has gone is no error. (pino's own output either waits for a stalled reader, with
 * every request, or tries without end to write to one that is gone.)
 */
export function lineOutput(out: Writable): LineOutput {
  let dropped = 0;
  out.on('error', () => undefined); // nobody reads any more, so there is nobody to tell
  out.on('drain', () => {
    if (dropped === 0) return;
    const line = {
      level: 'warn',
      time: new Date().toISOString(),
      lines: dropped,
      msg: 'lines of this log were dropped: they were not read in time',
    };
    dropped = 0;
    out.write(`${JSON.stringify(line)}\n`);
  });

  return {
    write(line) {
      if (!out.writable) return;
      if (out.writableLength > maxUnreadBytes) dropped += 1;
      else out.write(line);
    },
    flush(done) {
      if (!out.writable || out.writableLength === 0) return done();
      const isOver = () => {
        clearTimeout(timer);
        out.off('drain', isOver);
        done();
      };
      const timer = setTimeout(isOver, flushTimeoutMs);
      out.on('drain', isOver);
    },
  };
}
