import { startTaskProcess, TaskProcessDied } from '@parley/kernel/processes/task-process';
import type { Mapping } from './mapping.ts';

export interface MappingTask {
  mapping: Mapping;
  payloadJson: string;
  maxProcessorMs: number;
  maxCharacters: number;
}

export type MappingProblem = 'MAPPING_TOO_SLOW' | 'MAPPING_TOO_LARGE' | 'MAPPING_FAILED';

export type MappingAnswer = { json: string } | { problem: MappingProblem };

/** Thrown when a mapping fails; `problem` is the reason. */
export class MappingError extends Error {
  override name = 'MappingError';
  readonly problem: MappingProblem;

  constructor(problem: MappingProblem) {
    super(problem);
    this.problem = problem;
  }
}

export interface MapperLimits {
  heapMb: number;
  /** A process is killed when a task exceeds its own time limit by this many ms. */
  killAfterMs: number;
}

/** A generous bound on the memory of a process outside of its heap. */
const besideHeapMb = 128;

export function startMapperProcess({ heapMb, killAfterMs }: MapperLimits) {
  const mapper = startTaskProcess<MappingTask, MappingAnswer>({
    module: new URL('./mapper-main.ts', import.meta.url),
    purpose: 'that evaluates JSONPaths',
    execArgv: [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=8'],
  });
  return {
    get ended() {
      return mapper.ended;
    },
    /**
     * Runs one mapping at a time.
     * @throws MappingError if the mapping fails
     * @throws Error if the process did not start or was ended
     */
    async map(task: MappingTask): Promise<string> {
      const onTimeout = () => new MappingError('MAPPING_TOO_SLOW');
      const timeoutMs = task.maxProcessorMs + killAfterMs;
      const maxMemory = { mb: heapMb + besideHeapMb, onExceeded: () => new MappingError('MAPPING_TOO_LARGE') };
      const answer = await mapper.perform(task, { timeoutMs, onTimeout, maxMemory }).catch(rethrow);
      if ('problem' in answer) throw new MappingError(answer.problem);
      return answer.json;
    },
    end: () => mapper.end(),
  };
}

function rethrow(error: unknown): never {
  if (!(error instanceof TaskProcessDied)) throw error;
  throw new MappingError(error.how === 'SIGABRT' ? 'MAPPING_TOO_LARGE' : 'MAPPING_FAILED');
}
