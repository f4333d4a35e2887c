import type { AnswerBudget, Asking } from '@parley/chassis/answer-budget';
import { type Caller, inTenant } from '@parley/chassis/caller';
import DataLoader from 'dataloader';
import type { ListedAgent } from '../agent.ts';
import type { App } from '../app.ts';

/** What the resolvers of one request work with. */
export interface Context {
  app: App;
  caller: Caller;
  /** What the answer may still take. */
  budget: AnswerBudget;
  /** Aborted when the request is given up before it is answered. */
  gone: AbortSignal;
  /** By id, deleted ones included; many keys of one request are one query. */
  agentOf(id: number, fields: Asking['fields']): Promise<ListedAgent | undefined>;
}

interface Entities {
  loader: DataLoader<number, ListedAgent | undefined>;
  /** Agents that stand in the answer already, and are counted. */
  shown: Set<number>;
}

export function contextFor(app: App): (caller: Caller, budget: AnswerBudget, gone: AbortSignal) => Context {
  return (caller, budget, gone) => {
    const entities = new Map<Asking['fields'], Entities>();

    function entitiesWith(fields: Asking['fields']): Entities {
      const made = entities.get(fields) ?? {
        loader: new DataLoader((ids: readonly number[]) => app.agentsByIds(inTenant(caller), ids, { budget, fields })),
        shown: new Set<number>(),
      };
      entities.set(fields, made);
      return made;
    }

    return {
      app,
      caller,
      budget,
      gone,
      async agentOf(id, fields) {
        const { loader, shown } = entitiesWith(fields);
        const again = shown.has(id);
        shown.add(id);
        const agent = await loader.load(id);
        if (again) budget.charge(fields.objectBytes); // read once, and in the answer once more
        return agent;
      },
    };
  };
}
