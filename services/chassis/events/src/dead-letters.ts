import { appendFile, readFile } from 'node:fs/promises';
import { hasCode } from '@parley/kernel/errors';
import type { DeadLetter } from './event-bus.ts';

/** The store of the in-process bus for events that failed permanently. */
export interface DeadLetters {
  /** Resolves when the dead letter is on disk. If it rejects, the event stays unpublished and is retried. */
  append(letter: DeadLetter): Promise<void>;
}

/** Stores dead letters as JSON lines in one file (mode 0600), with payloads in base64. */
export function fileDeadLetters(file: string) {
  let previous: Promise<unknown> = Promise.resolve();
  // A crash or a full disk may have truncated the last line. So a newline is written first, except after a successful write.
  let startsLine = false;

  async function write(letter: DeadLetter): Promise<void> {
    const data = Buffer.from(letter.event.data).toString('base64');
    const record = JSON.stringify({ ...letter, event: { ...letter.event, data } });
    const line = `${startsLine ? '' : '\n'}${record}\n`;
    startsLine = false;
    await appendFile(file, line, { mode: 0o600, flush: true });
    startsLine = true;
  }

  return {
    append(letter: DeadLetter): Promise<void> {
      const written = previous.then(() => write(letter));
      previous = written.catch(() => undefined);
      return written;
    },
    /** Lists all dead letters, oldest first. Skips a line that a crash has truncated. */
    async list(): Promise<DeadLetter[]> {
      const text = await readFile(file, 'utf8').catch((error: unknown) => {
        if (hasCode(error, 'ENOENT')) return '';
        throw error;
      });
      return text.split('\n').flatMap(fromLine);
    },
  };
}

interface LetterRecord extends Omit<DeadLetter, 'time' | 'event'> {
  time: string;
  event: Omit<DeadLetter['event'], 'time' | 'data'> & { time: string; data: string };
}

function fromLine(line: string): DeadLetter[] {
  try {
    const record: LetterRecord = JSON.parse(line);
    const { event } = record;
    const data = new Uint8Array(Buffer.from(event.data, 'base64'));
    return [{ ...record, time: new Date(record.time), event: { ...event, time: new Date(event.time), data } }];
  } catch {
    return [];
  }
}
