import type { Envelope } from './envelope.ts';

/**
 * Carries events between services, each at least once to every group: an effect and the mark that it happened commit
 * together (inbox). Events of one topic and key reach a group in the order in which they were published; those of
 * different keys go side by side.
 */
export interface EventBus {
  /**
   * Resolves when every event is safe: with a broker when it has stored them, in one process when each group has
   * handled them or put them to the dead letters. When it rejects, some may have arrived: publish all of them again.
   * Any rejection means "later", whatever its kind.
   */
  publish(events: Envelope[]): Promise<void>;
  /**
   * Resolves when the group takes events. Members of one group, on any replica, share its events; each group gets all.
   * What was published before a group's first subscription it may not see, so relays start after consumers.
   */
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  /** Rejects with the reason while the bus cannot be reached. */
  ping?(): Promise<void>;
  /** Stops this connection's subscriptions, then ends it. Later calls reject. */
  close(): Promise<void>;
}

export interface SubscribeOptions {
  /** The consumer's name, e.g. `evaluation`. */
  group: string;
  topics: string[];
  /**
   * Resolves when the event's effect is committed. A rejection is tried again; after the last attempt the event goes to
   * the dead letters. A rejection as `unavailable` is no attempt: it is tried again until it ends otherwise, while the
   * events of its key wait. `signal` aborts at the timeout: whoever goes on for as long again may overlap with one next
   * attempt, and if it succeeds at last, the event is handled.
   */
  handler: (event: Envelope, signal: AbortSignal) => Promise<void>;
  /**
   * How many events of one topic are handled at once, each of another key. Default 16. The member's partitions share
   * them: each can always begin one, if there are no more partitions than this.
   */
  concurrency?: number;
  /** Default 5. */
  maxAttempts?: number;
  /** What one attempt may take, in ms. Default 5,000. All attempts at one event end within 30 s, whatever this says. */
  handlerTimeoutMs?: number;
  /**
   * Whether what every handler of the group needs, as its database, is away; asked after a failure. While it is, failures
   * are no attempts and no time runs: the event waits for its return, as all others do. Never rejects. Default: it is not.
   */
  isAway?: () => Promise<boolean>;
}

export interface Subscription {
  /**
   * Takes no more events and lets running attempts end (each within its timeout). What is not handled by then is left
   * to the group's other members, or to later ones.
   */
  stop(): Promise<void>;
  /** How many stored events the member has still to handle, as far as it knows. Only a broker stores any. */
  lag?(): number;
}

/** Where the events of `topic` go that a group could not handle. */
export function deadLetterTopic(topic: string): string {
  return `${topic}.dead-letter`;
}

/** An event that one group gave up, with what it needs to be understood and sent again. */
export interface DeadLetter {
  /** `<topic>.dead-letter`. */
  topic: string;
  group: string;
  /** How often it was tried. */
  attempts: number;
  /** Why the last attempt failed. */
  reason: string;
  time: Date;
  event: Envelope;
}
