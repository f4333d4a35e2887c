import { startTaskProcess, TaskProcessDied } from '@parley/kernel/processes/task-process';

export interface Rendering {
  template: string;
  scope: Record<string, unknown>;
  timeoutMs: number;
  /** Maximum length of a rendered text that is returned. For a longer text, only the length is returned. */
  maxCharacters: number;
}

export type Rendered = { tookMs: number } & ({ text: string } | { characters: number });

export type RendererResponse = Rendered | { problem: string };

/**
 * An error of the template. The message contains no text of the template: it is, for example, `too slow` or `ParseError`.
 */
export class TemplateError extends Error {
  override name = 'TemplateError';
}

export interface RendererLimits {
  heapMb: number;
  /** The process is killed this many ms after the timeout of a rendering. */
  killAfterMs: number;
  /** The process is killed if it has not started within this time, in ms. Default 60,000. */
  startTimeoutMs?: number;
}

export type RendererProcess = ReturnType<typeof startRendererProcess>;

export function startRendererProcess({ heapMb, killAfterMs, startTimeoutMs }: RendererLimits) {
  const renderer = startTaskProcess<Rendering, RendererResponse>({
    module: new URL('./renderer-main.ts', import.meta.url),
    purpose: 'that renders templates',
    execArgv: [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=8'],
    startTimeoutMs,
  });
  return {
    pid: renderer.pid,
    get ended() {
      return renderer.ended;
    },
    /**
     * Renders one template at a time.
     * @throws TemplateError if the template fails
     * @throws Error if the process did not start or was killed
     */
    async render(task: Rendering): Promise<Rendered> {
      const onTimeout = () => new TemplateError('too slow');
      const response = await renderer
        .perform(task, { timeoutMs: task.timeoutMs + killAfterMs, onTimeout })
        .catch(rethrow);
      if ('problem' in response) throw new TemplateError(response.problem);
      return response;
    },
    end: () => renderer.end(),
  };
}

function rethrow(error: unknown): never {
  if (!(error instanceof TaskProcessDied)) throw error;
  throw new TemplateError(error.how === 'SIGABRT' ? 'too much memory' : `ended by ${error.how}`);
}
