import type { TopicDeclaration } from '@parley/chassis/events/topics';
import { identityDeclaration } from '@parley/identity/declaration';
import { sessionDeclaration } from '@parley/session/declaration';

/** What all services publish. */
export const topics: TopicDeclaration[] = [identityDeclaration, sessionDeclaration].flatMap(
  ({ publishes }) => publishes ?? [],
);
