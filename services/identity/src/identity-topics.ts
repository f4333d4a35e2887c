import { type TopicDeclaration, usualRetentionMs } from '@parley/chassis/events/topics';

/** What identity publishes. */
export const identityTopics: TopicDeclaration[] = [
  // `tenant.deleted.v1`, keyed by the tenant.
  { name: 'tenant-deleted', partitions: 3, retentionMs: usualRetentionMs },
];
