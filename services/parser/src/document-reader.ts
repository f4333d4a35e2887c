import type { Part } from '@parley/kernel/unit';
import type { ReadLimits } from './file-problem.ts';
import type { ReadText } from './markdown.ts';
import type { FileToRead } from './read-file.ts';
import { type ReaderProcess, startReaderProcess } from './reader-process.ts';

export interface DocumentReader extends Part {
  /**
   * Reads a file in a process of its own.
   * @throws FileProblem; the signal's reason; any other Error where the process ended in another way, which may succeed the next time.
   */
  read(file: FileToRead, of: { tenantId: number; signal: AbortSignal }): Promise<ReadText>;
}

export interface DocumentReaderOptions extends ReadLimits {
  /** Processes that run or wait for a file at once, unless more files than that are read at once. */
  maxProcesses: number;
  /** How long a process waits for the next file of its tenant. Default 30,000. */
  idleMs?: number;
}

interface Idle {
  reader: ReaderProcess;
  tenantId: number;
  timer: NodeJS.Timeout;
}

/**
 * A process takes the next file of the same tenant, because its start may take longer than a file. After any problem, and with half of its
 * memory in use, it ends: the next file gets a new one, and no tenant's file ever meets what another's has left.
 */
export function documentReader(
  { maxProcesses, idleMs = 30_000, ...limits }: DocumentReaderOptions,
  start = startReaderProcess,
): DocumentReader {
  const processes = new Set<ReaderProcess>();
  let idle: Idle[] = [];
  let stopped = false;

  function acquire(tenantId: number): ReaderProcess {
    const own = idle.findLast((each) => each.tenantId === tenantId && !each.reader.ended);
    if (own) {
      clearTimeout(own.timer);
      idle = idle.filter((each) => each !== own);
      return own.reader;
    }
    if (processes.size >= maxProcesses && idle[0]) retire(idle[0]);
    const reader = start(limits);
    processes.add(reader);
    return reader;
  }

  function keep(reader: ReaderProcess, tenantId: number): void {
    const { ended } = reader;
    if (ended || stopped || processes.size > maxProcesses || !((reader.residentMb() ?? 0) < limits.maxMemoryMb / 2)) {
      void end(reader);
      return;
    }
    const kept: Idle = { reader, tenantId, timer: setTimeout(() => retire(kept), idleMs).unref() };
    idle.push(kept);
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

  return {
    name: 'document reader',
    async start() {
      stopped = false;
    },
    async read(file, { tenantId, signal }) {
      if (stopped) throw new Error('No files are read any more');
      const reader = acquire(tenantId);
      try {
        const text = await reader.read(file, signal);
        keep(reader, tenantId);
        return text;
      } catch (error) {
        void end(reader);
        throw error;
      }
    },
    async stop() {
      stopped = true;
      for (const { timer } of idle) clearTimeout(timer);
      idle = [];
      await Promise.all([...processes].map(end));
    },
  };
}
