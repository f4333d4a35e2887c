import type { GraphContext } from '@parley/chassis/graph/subgraph';
import type { App } from '../app.ts';

/** What a resolver finds in its context. */
export interface IdentityContext extends GraphContext {
  app: App;
}

export type { IdentityContext as Context };
