import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

export interface Logs {
  folder: string;
  /** Where the lines of all are, each with the name of who wrote it before it. */
  joinedFile: string;
  /** Takes down, from now on, what one replica writes. */
  follow(name: string, streams: Readable[]): void;
  /** A line of the supervisor's own. */
  tell(text: string): void;
  close(): Promise<void>;
}

export interface LogsOptions {
  folder: string;
  /** Hears every line as the joined view has it. */
  onLine?: ((name: string, line: string) => void) | undefined;
}

/** One file for each replica and one for all together, for their owner alone; what is there already stays. */
export function openLogs({ folder, onLine = () => undefined }: LogsOptions): Logs {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const files = new Map<string, WriteStream>();
  const joinedFile = join(folder, 'all.log');

  function write(file: string, text: string): void {
    let stream = files.get(file);
    if (!stream) {
      stream = createWriteStream(file, { flags: 'a', mode: 0o600 });
      stream.on('error', () => undefined); // a full disk must not end the mesh
      files.set(file, stream);
    }
    stream.write(text);
  }

  function take(name: string, line: string): void {
    write(joinedFile, `${name.padEnd(12)} ${line}\n`);
    onLine(name, line);
  }

  return {
    folder,
    joinedFile,
    follow(name, streams) {
      for (const input of streams) {
        createInterface({ input }).on('line', (line) => {
          write(join(folder, `${name}.log`), `${line}\n`);
          take(name, line);
        });
      }
    },
    tell(text) {
      take('mesh', JSON.stringify({ level: 'info', time: new Date().toISOString(), unit: 'mesh', msg: text }));
    },
    async close() {
      await Promise.all([...files.values()].map((stream) => new Promise((resolve) => stream.end(resolve))));
    },
  };
}

/** A line for a terminal: when, who, how bad and what, without the rest of the JSON. What is no log line is shown as it is. */
export function shortLine(name: string, line: string): string {
  const who = name.padEnd(12);
  try {
    const { time, level, msg, err }: Record<string, unknown> & { err?: { message?: string } } = JSON.parse(line);
    const when = new Date(String(time)).toISOString().slice(11, 23);
    return `${when} ${who} ${String(level).padEnd(5)} ${String(msg ?? '')}${err?.message ? `: ${err.message}` : ''}`;
  } catch {
    return `${' '.repeat(12)} ${who} ${line}`;
  }
}
