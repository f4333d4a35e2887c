import type { Logger } from '@parley/kernel/telemetry/log';
import { keepSubscribed } from './keep-subscribed.ts';
import type { KeyValue, Unsubscribe } from './key-value.ts';

/** The messages of one pub/sub channel, sent in base64. `@parley/protos/announcements` declares all of them. */
export interface AnnouncementDeclaration<Message> {
  channel: string;
  /** The generated codec of the message. */
  message: { encode(message: Message): { finish(): Uint8Array }; decode(bytes: Uint8Array): Message };
}

/** Publishes to current subscribers. A failure is logged and does not reject, because subscribers also query their source periodically. */
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
 * Calls `handler` with each announcement, from now on or once the engine is available.
 * @param handler gets undefined for a message that cannot be decoded; anything may have changed then. Unknown fields are omitted.
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
