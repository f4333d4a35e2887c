import type { GraphContext } from '@parley/subgraph/subgraph';
import type { Ports } from '../ports.ts';

export interface Context extends GraphContext {
  ports: Ports;
}
