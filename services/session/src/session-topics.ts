import { type TopicDeclaration, usualRetentionMs } from '@parley/chassis/events/topics';

/** What session publishes. */
export const sessionTopics: TopicDeclaration[] = [
  // `session.ended.v1`, keyed by the session.
  { name: 'session-ended', partitions: 12, retentionMs: usualRetentionMs },
];
