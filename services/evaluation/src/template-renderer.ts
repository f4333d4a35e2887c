import { fairQueue } from '@parley/kernel/fair-queue';
import {
  type Rendered,
  type RendererLimits,
  type RendererProcess,
  type Rendering,
  startRendererProcess,
} from './renderer-process.ts';

export interface RenderingFor {
  tenantId: number;
  /** Aborted when the caller is gone: it then leaves the queue. */
  signal: AbortSignal;
}

export type TemplateRenderer = ReturnType<typeof templateRenderer>;

export interface TemplateRendererOptions extends Partial<RendererLimits> {
  /** Maximum number of processes, each started on first use. Default 2. */
  maxProcesses?: number;
}

/**
 * Renders templates in processes of its own, to protect the service; one per tenant at a time, so that no tenant uses all
 * processes. Defaults: 128 MB of heap, killed 2 s after a rendering's timeout.
 */
export function templateRenderer(options: TemplateRendererOptions = {}) {
  const { maxProcesses = 2, heapMb = 128, killAfterMs = 2_000 } = options;
  const turns = fairQueue({ inFlight: maxProcesses, shares: { tenant: { inFlight: 1 } } });
  const processes = new Set<RendererProcess>();
  let idle: RendererProcess[] = [];
  let stopped = false;

  function acquireProcess(): RendererProcess {
    idle = idle.filter(({ ended }) => !ended);
    const acquired = idle.pop() ?? startRendererProcess({ heapMb, killAfterMs });
    processes.add(acquired);
    return acquired;
  }

  function releaseProcess(acquired: RendererProcess): void {
    if (acquired.ended) processes.delete(acquired);
    else idle.push(acquired);
  }

  return {
    name: 'template renderer',
    async start(): Promise<void> {
      stopped = false;
    },
    /** @throws TemplateError for errors of the template; others, such as the signal's reason, for all else */
    async render(rendering: Rendering, { tenantId, signal }: RenderingFor): Promise<Rendered> {
      signal.throwIfAborted();
      using _turn = { [Symbol.dispose]: await turns.enter({ tenant: tenantId }, () => signal) };
      if (stopped) throw new Error('No templates are rendered any more');
      const acquired = acquireProcess();
      try {
        return await acquired.render(rendering);
      } finally {
        releaseProcess(acquired);
      }
    },
    async stop(): Promise<void> {
      stopped = true;
      idle = [];
      await Promise.all([...processes].map((each) => each.end()));
      processes.clear();
    },
  };
}
