import type { SchemaDeclaration } from '@parley/chassis/database/types';
import { evaluations } from './migrations/001-evaluations.ts';

export const evaluationSchema: SchemaDeclaration = {
  name: 'evaluation',
  tables: { evaluations: 'tenant' },
  migrations: [evaluations],
};
