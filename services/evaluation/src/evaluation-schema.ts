import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { evaluations } from './migrations/001-evaluations.ts';
import { longTranscripts } from './migrations/002-long-transcripts.ts';

export const evaluationSchema: SchemaDeclaration = {
  name: 'evaluation',
  tables: { evaluations: 'tenant', transcript_parts: 'tenant' },
  migrations: [evaluations, longTranscripts],
};
