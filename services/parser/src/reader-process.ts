import { platform } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unavailable } from '@parley/kernel/errors';
import { residentMb } from '@parley/kernel/processes/resident-memory';
import { startTaskProcess, TaskProcessDied, TaskProcessNotStarted } from '@parley/kernel/processes/task-process';
import type { ContentKind } from './content-kind.ts';
import { FileProblem, type Problem, type ReadLimits } from './file-problem.ts';
import type { ReadText } from './markdown.ts';
import type { FileToRead } from './read-file.ts';

export interface ReaderTask {
  file: FileToRead;
  limits: ReadLimits;
}

export type ReaderAnswer =
  | ReadText
  | { problem: Problem; found: ContentKind | undefined; errorName: string | undefined };

/** The name of the library error that ended a reading, without the message, which may quote the file. */
export interface LibraryError {
  name: string;
}

export type ReaderProcess = ReturnType<typeof startReaderProcess>;

/** V8's share of the memory limit; buffers are outside its heap. */
const heapShare = 0.75;
/**
 * Share of the memory limit up to which V8 does not collect old objects. Otherwise V8 would collect all the time, which would take a fifth
 * of a PDF's processor time.
 */
const uncollectedShare = 0.375;
/**
 * Maximum size, in MB, of each half of V8's space for new objects. By default the halves grow to 128 MB, which saves no time and leaves
 * less memory for documents.
 */
const semiSpaceMb = 16;
/** Nice value, so that requests have priority. At 5, a reader still gets a quarter of a busy processor. */
const niceness = 5;

/**
 * Wall-clock limit as a multiple of the processor time limit. It is much longer, so that a file does not count as slow because its reader
 * waits for a processor.
 */
const longestWait = 10;

/**
 * Starts a process that cannot use the network, write files, generate code, or start child processes or threads. It can read only the files
 * of its own code.
 */
export function startReaderProcess(limits: ReadLimits) {
  const process = startTaskProcess<ReaderTask, ReaderAnswer>({
    module: new URL('./reader-main.ts', import.meta.url),
    purpose: 'that reads files',
    serialization: 'advanced',
    execArgv: readerArguments(limits),
    niceness,
  });

  return {
    pid: process.pid,
    get ended() {
      return process.ended;
    },
    residentMb: () => residentMb(process.pid),
    /**
     * Reads a file; a process reads one file at a time.
     * @throws FileProblem if the file cannot be read
     * @throws the signal's reason if the signal aborts
     * @throws DomainError `unavailable` if the process did not start
     * @throws Error if the process ended
     */
    async read(file: FileToRead, signal: AbortSignal): Promise<ReadText> {
      try {
        const answer = await process.perform(
          { file, limits },
          {
            maxProcessorMs: limits.timeoutMs,
            timeoutMs: limits.timeoutMs * (platform() === 'linux' ? longestWait : 1),
            onTimeout: () => new FileProblem('tooSlow'),
            maxMemory: { mb: limits.maxMemoryMb, onExceeded: () => new FileProblem('tooMuchMemory') },
            signal,
          },
        );
        if (!('problem' in answer)) return answer;
        const { problem, found, errorName } = answer;
        throw new FileProblem(problem, { ...(found && { found }), cause: errorName && { name: errorName } });
      } catch (error) {
        if (error instanceof TaskProcessDied && error.how === 'SIGABRT') throw new FileProblem('tooMuchMemory');
        if (error instanceof TaskProcessNotStarted) throw unavailable(error.message, error);
        throw error;
      }
    },
    end: () => process.end(),
  };
}

export function readerArguments({ maxMemoryMb }: Pick<ReadLimits, 'maxMemoryMb'>): string[] {
  return [
    '--permission',
    ...codeFolders().map((folder) => `--allow-fs-read=${folder}/`),
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${Math.floor(maxMemoryMb * heapShare)}`,
    `--initial-old-space-size=${Math.floor(maxMemoryMb * uncollectedShare)}`,
    `--max-semi-space-size=${semiSpaceMb}`,
  ];
}

function codeFolders(): string[] {
  const files = ['csv-parse', 'dingbat-to-unicode', 'numfmt', 'pdfjs-dist/package.json', 'saxes', 'unpdf', 'yauzl'];
  const packages = files.map((name) => {
    const path = fileURLToPath(import.meta.resolve(name));
    return path.slice(0, path.lastIndexOf('/node_modules/') + '/node_modules'.length);
  });
  const kernel = join(fileURLToPath(import.meta.resolve('@parley/kernel/processes/perform-tasks')), '../../..');
  return [...new Set([...packages, kernel, dirname(import.meta.dirname)])];
}
