import type { GraphContext } from '@parley/chassis/graph/subgraph';
import type { App } from '../app.ts';

/** What a resolver finds in its context. */
export interface IdentityContext extends GraphContext {
  app: App;
  /** Aborted when the request is given up before it is answered. */
  gone: AbortSignal;
}

export type { IdentityContext as Context };
