import type { IdentityConfig } from '../config.ts';
import type { Message } from './message.ts';

/** A message with the id by which receivers recognize a second delivery. */
export interface OutgoingMessage extends Message {
  id: string;
}

export interface Carrier<To> {
  /**
   * Sends a message.
   * @throws MessageRefused if retries are useless; after any other error, the message may be sent again
   */
  send(message: Omit<OutgoingMessage, 'to'> & { to: To }): Promise<void>;
  close(): void;
}

export class MessageRefused extends Error {}

export type DeliverySettings = IdentityConfig['delivery'];
