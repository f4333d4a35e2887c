import type { FieldInfo } from '@parley/chassis/graph/asked-fields';
import type { GraphContext } from '@parley/chassis/graph/subgraph';
import { type App, createApp } from '../app.ts';
import type { SessionDtoMessagesArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import type { Message } from '../session.ts';

/** What every resolver of one request finds. */
export interface Context extends GraphContext {
  app: App;
  /** The use cases as they read what this field shows: every list of any length is read by them. */
  reading(info: FieldInfo): App;
  /** The messages of many sessions by one query; asked only where they are selected. */
  messagesOf(info: FieldInfo, sessionId: number, page: SessionDtoMessagesArgs): Promise<Message[]>;
}

export function contextFor(ports: Ports): (request: GraphContext) => Context {
  const app = createApp(ports);
  return (request) => {
    const { answer, caller } = request;
    const reading = (info: FieldInfo) => createApp(answer.reading(ports, info));
    const messagesOf = answer.batched((info, ids, page: SessionDtoMessagesArgs) =>
      reading(info).listMessages(caller, ids, page),
    );
    return { ...request, app, reading, messagesOf };
  };
}
