import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { knowledge } from './migrations/001-knowledge.ts';

export const knowledgeSchema: SchemaDeclaration = {
  name: 'knowledge',
  tables: {
    knowledge_usage: 'tenant',
    knowledge_bases: 'tenant',
    knowledge_documents: 'tenant',
    knowledge_chunks: 'tenant',
    knowledge_uploads: 'tenant',
  },
  migrations: [knowledge],
};
