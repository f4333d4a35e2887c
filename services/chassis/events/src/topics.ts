/** One topic of events, declared by the service that publishes it. Each topic also has a dead-letter topic. */
export interface TopicDeclaration {
  /** The topic's name, e.g. `session-ended`. */
  name: string;
  /**
   * The number of partitions, which limits how many replicas of one consumer can share the topic. Choose generously: adding partitions
   * later moves keys between partitions, and the events of a moved key lose their order.
   */
  partitions: number;
  /** How long events are kept, in ms. The maximum is 7 days, because inboxes remember events for `rememberedDays`. */
  retentionMs: number;
}

const dayMs = 24 * 60 * 60_000;

/** How long an event is kept by default, in ms; also the maximum. */
export const usualRetentionMs = 7 * dayMs;
/** How long dead letters are kept, in ms: an operator needs time to inspect them. */
export const deadLetterRetentionMs = 30 * dayMs;
/**
 * How many days inboxes remember events, so that no event takes effect twice. An event may become a dead letter although its effect was
 * committed. The dead letter can exist for 37 days (30, and up to 7 until Kafka deletes the segment); after a replay the event can wait in
 * its topic for 7 more days.
 */
export const rememberedDays = 45;
