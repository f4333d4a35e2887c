import { type EndCall, fairQueue } from '@parley/kernel/fair-queue';
import type { Part } from '@parley/kernel/unit';
import {
  type Rendered,
  type RendererLimits,
  type RendererProcess,
  type Rendering,
  startRendererProcess,
} from './renderer-process.ts';

/** For whom a template is filled. */
export interface RenderingFor {
  tenantId: number;
  /** Aborted when nobody waits for it any more: then it leaves the queue. */
  signal: AbortSignal;
}

/**
 * Fills tenants' templates in processes of their own, so that whatever a template does, the service goes on. A tenant's templates
 * wait for each other; one tenant never takes all processes.
 */
export interface TemplateRenderer extends Part {
  /** @throws TemplateProblem, where the template is at fault; another Error where it is not, such as the signal's reason. */
  render(rendering: Rendering, whose: RenderingFor): Promise<Rendered>;
}

export interface TemplateRendererOptions extends Partial<RendererLimits> {
  /** Processes at most, each started when it is needed first. Default 2. */
  atOnce?: number;
}

/** By default the heap may have 128 MB, and a process is killed 2 seconds after the time in which it should have ended by itself. */
export function templateRenderer(options: TemplateRendererOptions = {}): TemplateRenderer {
  const { atOnce = 2, heapMb = 128, patienceMs = 2_000 } = options;
  const turns = fairQueue({ underWay: atOnce, shares: { tenant: { underWay: 1 } } });
  const processes = new Set<RendererProcess>();
  let idle: RendererProcess[] = [];
  let stopped = false;

  function takeProcess(): RendererProcess {
    idle = idle.filter(({ ended }) => !ended);
    const taken = idle.pop() ?? startRendererProcess({ heapMb, patienceMs });
    processes.add(taken);
    return taken;
  }

  function giveBack(taken: RendererProcess): void {
    if (taken.ended) processes.delete(taken);
    else idle.push(taken);
  }

  return {
    name: 'template renderer',
    async start() {
      stopped = false;
    },
    async render(rendering, { tenantId, signal }) {
      signal.throwIfAborted();
      const endTurn: EndCall = await turns.enter({ tenant: tenantId }, () => signal);
      try {
        if (stopped) throw new Error('No templates are rendered any more');
        const taken = takeProcess();
        try {
          return await taken.render(rendering);
        } finally {
          giveBack(taken);
        }
      } finally {
        endTurn();
      }
    },
    async stop() {
      stopped = true;
      idle = [];
      await Promise.all([...processes].map((each) => each.end()));
      processes.clear();
    },
  };
}
