/** One topic of events, declared by the service that publishes it. Its dead-letter topic comes with it. */
export interface TopicDeclaration {
  /** E.g. `session-ended`. */
  name: string;
  /**
   * How many parts it has, which is how many replicas of one consumer can share it. Choose generously: with more of them
   * later, keys would move and lose their order.
   */
  partitions: number;
  /** How long events are kept, in ms: less than the 14 days for which consumers remember what they have taken. */
  retentionMs: number;
}

const dayMs = 24 * 60 * 60_000;

/** How long an event is kept unless its declaration says otherwise. */
export const usualRetentionMs = 7 * dayMs;
/** How long dead letters are kept: somebody has to look at them. */
export const deadLetterRetentionMs = 30 * dayMs;
