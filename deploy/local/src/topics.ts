import type { TopicDeclaration } from '@parley/events/topics';
import { units } from './units.ts';

/** The topics of all services. */
export const topics: TopicDeclaration[] = units.flatMap(({ publishes }) => publishes ?? []);
