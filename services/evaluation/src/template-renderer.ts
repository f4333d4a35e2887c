import { workerPool } from '@parley/kernel/processes/worker-pool';
import { fairQueue } from '@parley/kernel/queues/fair-queue';
import { type Rendered, type RendererLimits, type Rendering, startRendererProcess } from './renderer-process.ts';

export type TemplateRenderer = ReturnType<typeof templateRenderer>;

export interface TemplateRendererOptions extends Partial<RendererLimits> {
  /** Maximum number of processes; each is started on first use. Default 2. */
  maxProcesses?: number;
}

/**
 * Renders templates in separate processes, to protect the service. Renders one template per tenant at a time, so that no tenant uses all
 * processes.
 */
export function templateRenderer(options: TemplateRendererOptions = {}) {
  const { maxProcesses = 2, heapMb = 128, killAfterMs = 2_000 } = options;
  const queue = fairQueue({ inFlight: maxProcesses, shares: { tenant: { inFlight: 1 } } });
  const processes = workerPool(() => startRendererProcess({ heapMb, killAfterMs }));
  let stopped = false;

  return {
    name: 'template renderer',
    async start(): Promise<void> {
      stopped = false;
    },
    async render(
      rendering: Rendering,
      { tenantId, signal }: { tenantId: number; signal: AbortSignal },
    ): Promise<Rendered> {
      signal.throwIfAborted();
      using _place = { [Symbol.dispose]: await queue.enter({ tenant: tenantId }, () => signal) };
      if (stopped) throw new Error('No templates are rendered any more');
      return await processes.use((renderer) => renderer.render(rendering));
    },
    async stop(): Promise<void> {
      stopped = true;
      await processes.close();
    },
  };
}
