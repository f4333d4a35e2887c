import type { Part } from '@parley/kernel/processes/unit';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import type { ReadText } from './markdown.ts';
import type { FileToRead } from './read-file.ts';
import { type ReaderProcess, startReaderProcess } from './reader-process.ts';

export interface ReadFor {
  tenantId: number;
  signal: AbortSignal;
}

export interface DocumentReader extends Part {
  /**
   * Reads a file.
   * @throws FileProblem if the file cannot be read
   * @throws the signal's reason if the signal aborts
   * @throws any other Error if the reader's process ended; a retry may then succeed
   */
  read(file: FileToRead, of: ReadFor): Promise<ReadText>;
}

export interface DocumentReaderOptions extends ReadLimits {
  /** If more processes than this run, idle processes are ended. More may still run, if more files are read at the same time. */
  maxProcesses: number;
  /** Time in ms that a process waits for the next file of its tenant. Default 30,000. */
  idleMs?: number;
}

interface Idle {
  reader: ReaderProcess;
  tenantId: number;
  timer: NodeJS.Timeout;
}

/**
 * A process that uses more than this share of its memory gets no further file. Below this share, most of its memory is garbage that the
 * next file can reuse.
 */
const reusableBelow = 0.9;

/**
 * Reads files in processes. A process also reads the next file of the same tenant, because starting a process may take longer than reading
 * a file. A process ends after any problem. If a process that has read other files runs out of memory, a new process reads the file again,
 * because the memory of the earlier files must not count against this file.
 */
export function documentReader(
  { maxProcesses, idleMs = 30_000, ...limits }: DocumentReaderOptions,
  start = startReaderProcess,
): DocumentReader {
  const processes = new Set<ReaderProcess>();
  let idle: Idle[] = [];
  let stopped = false;

  function idleOf(tenantId: number): ReaderProcess | undefined {
    const own = idle.findLast((each) => each.tenantId === tenantId && !each.reader.ended);
    if (!own) return undefined;
    clearTimeout(own.timer);
    idle = idle.filter((each) => each !== own);
    return own.reader;
  }

  function startNew(): ReaderProcess {
    if (processes.size >= maxProcesses && idle[0]) retire(idle[0]);
    const reader = start(limits);
    processes.add(reader);
    return reader;
  }

  function keep(reader: ReaderProcess, tenantId: number): void {
    const { ended } = reader;
    if (ended || stopped || processes.size > maxProcesses || isFull(reader)) {
      void end(reader);
      return;
    }
    const kept: Idle = { reader, tenantId, timer: setTimeout(() => retire(kept), idleMs).unref() };
    idle.push(kept);
  }

  function isFull(reader: ReaderProcess): boolean {
    return (reader.residentMb() ?? 0) > reusableBelow * limits.maxMemoryMb;
  }

  function retire(kept: Idle): void {
    clearTimeout(kept.timer);
    idle = idle.filter((each) => each !== kept);
    void end(kept.reader);
  }

  async function end(reader: ReaderProcess): Promise<void> {
    processes.delete(reader);
    await reader.end();
  }

  async function readIn(reader: ReaderProcess, file: FileToRead, of: ReadFor): Promise<ReadText> {
    try {
      const text = await reader.read(file, of.signal);
      keep(reader, of.tenantId);
      return text;
    } catch (error) {
      void end(reader);
      throw error;
    }
  }

  return {
    name: 'document reader',
    async start() {
      stopped = false;
    },
    async read(file, { tenantId, signal }) {
      if (stopped) throw new Error('No files are read any more');
      const used = idleOf(tenantId);
      if (used) {
        try {
          return await readIn(used, file, { tenantId, signal });
        } catch (error) {
          if (!(error instanceof FileProblem && error.problem === 'tooMuchMemory')) throw error;
        }
      }
      return readIn(startNew(), file, { tenantId, signal });
    },
    async stop() {
      stopped = true;
      for (const { timer } of idle) clearTimeout(timer);
      idle = [];
      await Promise.all([...processes].map(end));
    },
  };
}
