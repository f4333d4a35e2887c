import { type Caller, inTenant } from '@parley/chassis/caller';
import DataLoader from 'dataloader';
import type { Agent } from '../agent.ts';
import type { App } from '../app.ts';

/** What the resolvers of one request work with. */
export interface Context {
  app: App;
  caller: Caller;
  loaders: {
    /** By id, deleted ones included; many keys of one request are one query. */
    agent: DataLoader<number, Agent | undefined>;
  };
}

export function contextFor(app: App): (caller: Caller) => Context {
  return (caller) => ({
    app,
    caller,
    loaders: { agent: new DataLoader((ids) => app.agentsByIds(inTenant(caller), ids)) },
  });
}
