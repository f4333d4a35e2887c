import type { Caller } from '@parley/chassis/caller';
import type { GraphContext } from '@parley/chassis/graph/subgraph';
import DataLoader from 'dataloader';
import type { App } from '../app.ts';
import type { MessagesQuery } from '../read-sessions.ts';
import type { Message } from '../session.ts';

/** What every resolver of one request finds. */
export interface Context extends GraphContext {
  app: App;
  /** The messages of many sessions by one query; asked only where they are selected. */
  messagesOf(sessionId: number, page: MessagesQuery): Promise<Message[]>;
}

export function createContext(app: App, caller: Caller): Context {
  // A document may ask for several pages of messages under aliases: each page is one query for all sessions.
  const loaders = new Map<string, DataLoader<number, Message[]>>();

  return {
    app,
    caller,
    messagesOf(sessionId, page) {
      const key = `${page.first ?? ''} ${page.after ?? ''}`;
      const loader = loaders.get(key) ?? new DataLoader((ids) => app.listMessages(caller, ids, page));
      loaders.set(key, loader);
      return loader.load(sessionId);
    },
  };
}
