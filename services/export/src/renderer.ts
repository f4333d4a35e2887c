import { createHash } from 'node:crypto';
import { platform } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unavailable } from '@parley/kernel/errors';
import { startTaskProcess, TaskProcessDied, TaskProcessNotStarted } from '@parley/kernel/processes/task-process';
import type { Part } from '@parley/kernel/processes/unit';
import { compilerPackage, makingHash } from './render-inputs.ts';
import { type Problem, RenderProblem } from './render-problem.ts';
import type { StudyKitContent } from './study-kit.ts';

export interface RenderTask {
  /** The JSON of a `StudyKitContent`. */
  content: string;
}

export type RendererAnswer = { pdf: Buffer; pages: number } | { problem: Problem };

export interface RenderLimits {
  timeoutMs: number;
  maxMemoryMb: number;
  maxBytes: number;
}

/** Small documents have lower limits of time and memory than large ones. Default: large. */
export type DocumentSize = 'small' | 'large';

const smallLimits = { timeoutMs: 5_000, maxMemoryMb: 384 };

export interface Rendered {
  pdf: Buffer;
  pages: number;
}

/**
 * Content ready to render. Equal content has an equal `contentHash`. Content with equal hashes, rendered with equal limits, gives files
 * with the same bytes.
 */
export interface PreparedContent {
  json: string;
  contentHash: string;
  /** Identifies the content and the limits that it is rendered with. */
  failureHash: string;
}

export interface Renderer extends Part {
  prepare(content: StudyKitContent): PreparedContent;
  /**
   * @throws RenderProblem if the document cannot be rendered
   * @throws DomainError `unavailable` if no process could be started
   * @throws the signal's reason once the signal has aborted
   */
  render(content: Pick<PreparedContent, 'json'>, signal: AbortSignal, size?: DocumentSize): Promise<Rendered>;
}

/** Nice value of render processes, so that requests take precedence on a busy machine. */
const niceness = 5;
/** Elapsed-time limit as a multiple of the processor-time limit, because a process may wait for a CPU. */
const longestWait = 10;
/** The share of the memory limit that V8's heap may use. The compiler's memory is not part of the heap. */
const heapShare = 0.4;

/**
 * Renders each document in a separate process that is killed at its limits: the compiler is native code, caches compiled documents, and
 * could crash its process.
 */
export function renderer(limits: RenderLimits): Renderer {
  const { maxBytes } = limits;
  const limitsOf = {
    large: limits,
    small: {
      timeoutMs: Math.min(limits.timeoutMs, smallLimits.timeoutMs),
      maxMemoryMb: Math.min(limits.maxMemoryMb, smallLimits.maxMemoryMb),
    },
  };
  const processes = new Set<{ end(): Promise<void> }>();
  const making = makingHash();
  let stopped = false;

  return {
    name: 'renderer',
    async start() {
      stopped = false;
    },
    prepare(content) {
      const json = JSON.stringify(content);
      // If a file is larger than `maxBytes`, a shorter excerpt is rendered instead of it, so the limit is part of the hash.
      const contentHash = sha256(`${making}\n${maxBytes}\n${json}`);
      return { json, contentHash, failureHash: sha256(`${contentHash}\n${limits.timeoutMs}\n${limits.maxMemoryMb}`) };
    },
    async render({ json }, signal, size = 'large') {
      const { timeoutMs, maxMemoryMb } = limitsOf[size];
      signal.throwIfAborted();
      if (stopped) throw new Error('No documents are rendered any more');
      const process = startTaskProcess<RenderTask, RendererAnswer>({
        module: new URL('./renderer-main.ts', import.meta.url),
        purpose: 'that renders documents',
        serialization: 'advanced',
        execArgv: rendererArguments(maxMemoryMb),
        niceness,
      });
      processes.add(process);
      try {
        const answer = await process.perform(
          { content: json },
          {
            maxProcessorMs: timeoutMs,
            timeoutMs: timeoutMs * (platform() === 'linux' ? longestWait : 1),
            onTimeout: () => new RenderProblem('tooSlow'),
            maxMemory: { mb: maxMemoryMb, onExceeded: () => new RenderProblem('tooMuchMemory') },
            signal,
          },
        );
        if ('problem' in answer) throw new RenderProblem(answer.problem);
        // The buffer shares the memory of `answer.pdf`, without a copy.
        const pdf = Buffer.from(answer.pdf.buffer, answer.pdf.byteOffset, answer.pdf.byteLength);
        if (pdf.length > maxBytes) throw new RenderProblem('tooLarge');
        return { pdf, pages: answer.pages };
      } catch (error) {
        if (error instanceof TaskProcessDied) throw new RenderProblem(problemOf(error), error);
        if (error instanceof TaskProcessNotStarted) throw unavailable(error.message, error);
        throw error;
      } finally {
        processes.delete(process);
        void process.end();
      }
    },
    async stop() {
      stopped = true;
      await Promise.all([...processes].map((process) => process.end()));
    },
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function problemOf({ how }: TaskProcessDied): Problem {
  return how === 'SIGABRT' ? 'tooMuchMemory' : 'ended';
}

/**
 * Returns the arguments of a render process. Node's permissions deny writes, child processes, `eval`, and reading outside the folders of
 * the code. They do not restrict the compiler's native code.
 */
export function rendererArguments(maxMemoryMb: number): string[] {
  return [
    '--permission',
    '--allow-addons',
    ...codeFolders().map((folder) => `--allow-fs-read=${folder}/`),
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${Math.floor(maxMemoryMb * heapShare)}`,
    '--max-semi-space-size=16',
  ];
}

function codeFolders(): string[] {
  const compiler = fileURLToPath(import.meta.resolve(compilerPackage));
  const packages = compiler.slice(0, compiler.lastIndexOf('/node_modules/') + '/node_modules'.length);
  const kernel = join(fileURLToPath(import.meta.resolve('@parley/kernel/processes/perform-tasks')), '../../..');
  return [packages, kernel, dirname(import.meta.dirname)];
}
