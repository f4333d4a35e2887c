import { answerTasks } from '@parley/kernel/processes/answer-tasks';
import type { Embedding } from './embedder.ts';
import { embedOffline } from './offline-embedding.ts';

answerTasks((texts: string[]): Embedding[] => texts.map(embedOffline));
