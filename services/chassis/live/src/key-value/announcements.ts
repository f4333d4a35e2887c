import type { Logger } from '@parley/kernel/log';
import { keepSubscribed } from './keep-subscribed.ts';
import type { KeyValue, Unsubscribe } from './key-value.ts';

/** What is announced on one pub/sub channel. `@parley/protos/announcements` has them all. Messages travel in base64. */
export interface AnnouncementDeclaration<Message> {
  channel: string;
  /** As generated from its proto. */
  message: { encode(message: Message): { finish(): Uint8Array }; decode(bytes: Uint8Array): Message };
}

/**
 * Announces to all who are subscribed now. Resolves also where the engine is away, which is logged: subscribers ask their source again
 * from time to time.
 */
export function announcer<Message>(
  keyValue: Pick<KeyValue, 'publish'>,
  { channel, message }: AnnouncementDeclaration<Message>,
  log: Pick<Logger, 'warn'>,
): (announced: Message) => Promise<void> {
  return async (announced) => {
    try {
      await keyValue.publish(channel, Buffer.from(message.encode(announced).finish()).toString('base64'));
    } catch (error) {
      log.warn({ err: error, channel }, 'announcement failed');
    }
  };
}

/**
 * Calls `handler` with each announcement, from now on or once the engine is there.
 * @param handler gets undefined for one that cannot be read: it may concern anything. What a newer version adds to a message is left out.
 */
export function onAnnouncement<Message>(
  keyValue: Pick<KeyValue, 'subscribe'>,
  { channel, message }: AnnouncementDeclaration<Message>,
  handler: (announced: Message | undefined) => void,
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
): Promise<Unsubscribe> {
  const read = (text: string) => {
    try {
      return message.decode(Buffer.from(text, 'base64'));
    } catch {
      return undefined;
    }
  };
  return keepSubscribed(keyValue, { channel, handler: (text) => handler(read(text)), log });
}
