import type { TopicDeclaration } from '@parley/chassis/events/topics';
import { identityTopics } from '@parley/identity/topics';
import { sessionTopics } from '@parley/session/topics';

/** What all services publish. */
export const topics: TopicDeclaration[] = [...identityTopics, ...sessionTopics];
