import type { TopicDeclaration } from '@parley/events/topics';
import { units } from './units.ts';

/** What all services publish. */
export const topics: TopicDeclaration[] = units.flatMap(({ publishes }) => publishes ?? []);
