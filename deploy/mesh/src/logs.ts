import type { ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Log files: one for each replica, and one for all together, readable only by their owner. Existing lines are kept. */
export class Logs {
  readonly folder: string;
  /** The file with the lines of all replicas, each preceded by the replica's name. */
  readonly joinedFile: string;
  readonly #onLine: ((name: string, line: string) => void) | undefined;
  readonly #files = new Map<string, WriteStream>();

  /** @param options.onLine receives every line of the joined file. */
  constructor({ folder, onLine }: { folder: string; onLine?: ((name: string, line: string) => void) | undefined }) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.folder = folder;
    this.joinedFile = join(folder, 'all.log');
    this.#onLine = onLine;
  }

  /** Starts to record the output of one replica. */
  follow(name: string, { stdout, stderr }: ChildProcess): void {
    for (const input of [stdout, stderr]) {
      if (input) createInterface({ input }).on('line', (line) => this.#take(name, line));
    }
  }

  /** Writes a line of the supervisor itself. */
  info(msg: string): void {
    this.#take('mesh', JSON.stringify({ level: 'info', time: new Date().toISOString(), unit: 'mesh', msg }));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#files.values()].map((file) => new Promise((resolve) => file.end(resolve))));
  }

  #take(name: string, line: string): void {
    this.#write(join(this.folder, `${name}.log`), line);
    this.#write(this.joinedFile, `${name.padEnd(12)} ${line}`);
    this.#onLine?.(name, line);
  }

  #write(path: string, line: string): void {
    // A full disk must not end the mesh.
    const open = () => createWriteStream(path, { flags: 'a', mode: 0o600 }).on('error', () => undefined);
    const file = this.#files.get(path) ?? open();
    this.#files.set(path, file);
    file.write(`${line}\n`);
  }
}

/**
 * Formats a log line for a terminal. A JSON line becomes time, process, level and message. Any other line follows the process's name
 * unchanged.
 */
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
