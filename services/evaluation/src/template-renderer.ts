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
  signal: AbortSignal;
}

export type TemplateRenderer = ReturnType<typeof templateRenderer>;

export interface TemplateRendererOptions extends Partial<RendererLimits> {
  /** Default 2, each started on first use. */
  maxProcesses?: number;
}

/** Renders in other processes, to protect the service, and one template per tenant at a time, so that none uses all processes. */
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
