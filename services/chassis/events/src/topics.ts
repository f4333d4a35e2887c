/** One topic of events, declared by the service that publishes it. Its dead-letter topic comes with it. */
export interface TopicDeclaration {
  /** E.g. `session-ended`. */
  name: string;
  /**
   * How many parts it has, which is how many replicas of one consumer can share it. Choose generously: with more of them
   * later, keys would move and lose their order.
   */
  partitions: number;
  /** How long events are kept, in ms: 7 days at most (`rememberedDays`). */
  retentionMs: number;
}

const dayMs = 24 * 60 * 60_000;

/** How long an event is kept unless its declaration says otherwise, and at most. */
export const usualRetentionMs = 7 * dayMs;
/** How long dead letters are kept: somebody has to look at them. */
export const deadLetterRetentionMs = 30 * dayMs;
/**
 * How long consumers remember, in days, what they have taken, so that nothing takes effect twice: a letter of an event
 * whose effect was committed all the same is kept for 30 days, 7 more until Kafka deletes the whole segment it is in, and
 * when it is sent again it waits in its topic for as long as any event, 7.
 */
export const rememberedDays = 45;
