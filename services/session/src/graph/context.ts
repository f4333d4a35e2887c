import type { AnswerBudget, Asking } from '@parley/chassis/answer-budget';
import type { Caller } from '@parley/chassis/caller';
import type { GraphContext } from '@parley/chassis/graph/subgraph';
import DataLoader from 'dataloader';
import type { App } from '../app.ts';
import type { SessionDtoMessagesArgs } from '../generated/schema.ts';
import type { Message } from '../session.ts';

/** What every resolver of one request finds. */
export interface Context extends GraphContext {
  app: App;
  /** What the answer may still take. */
  budget: AnswerBudget;
  /** Aborted when the request is given up before it is answered. */
  gone: AbortSignal;
  /** The messages of many sessions by one query; asked only where they are selected. */
  messagesOf(sessionId: number, page: SessionDtoMessagesArgs, fields: Asking['fields']): Promise<Message[]>;
}

interface Page {
  loader: DataLoader<number, Message[]>;
  /** Sessions whose messages stand in the answer already, and are counted. */
  shown: Set<number>;
}

export function createContext(app: App, caller: Caller, budget: AnswerBudget, gone: AbortSignal): Context {
  // A document may ask for several pages of messages under aliases: each page is one query for all sessions.
  const pages = new Map<Asking['fields'], Map<string, Page>>();

  function pageOf(query: SessionDtoMessagesArgs, fields: Asking['fields']): Page {
    const ofFields = pages.get(fields) ?? new Map<string, Page>();
    pages.set(fields, ofFields);
    const key = `${query.first ?? ''} ${query.after ?? ''}`;
    const page = ofFields.get(key) ?? {
      loader: new DataLoader<number, Message[]>((ids) => app.listMessages(caller, ids, query, { budget, fields })),
      shown: new Set<number>(),
    };
    ofFields.set(key, page);
    return page;
  }

  return {
    app,
    caller,
    budget,
    gone,
    async messagesOf(sessionId, query, fields) {
      const { loader, shown } = pageOf(query, fields);
      const again = shown.has(sessionId);
      shown.add(sessionId);
      const messages = await loader.load(sessionId);
      if (again) budget.charge(messages.length * fields.objectBytes); // read once, and in the answer once more
      return messages;
    },
  };
}
