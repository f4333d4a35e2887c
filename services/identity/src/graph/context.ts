import type { GraphContext } from '@parley/subgraph/subgraph';
import type { Ports } from '../ports.ts';

/** What a resolver finds in its context. */
export interface Context extends GraphContext {
  ports: Ports;
}
