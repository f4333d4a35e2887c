import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { knowledge } from './migrations/001-knowledge.ts';
import { unsearchedGenerations } from './migrations/002-unsearched-generations.ts';
import { retrieval } from './migrations/003-retrieval.ts';
import { uploads } from './migrations/004-uploads.ts';
import { chunksByTenant } from './migrations/005-chunks-by-tenant.ts';
import { deletedTexts } from './migrations/006-deleted-texts.ts';
import { wordsBetweenSigns } from './migrations/007-words-between-signs.ts';
import { deletedWithoutText } from './migrations/008-deleted-without-text.ts';
import { uploadOfDocument } from './migrations/009-upload-of-document.ts';
import { parseWarnings } from './migrations/010-parse-warnings.ts';
import { namesInSearch } from './migrations/011-names-in-search.ts';
import { uploadReservations } from './migrations/012-upload-reservations.ts';
import { recentUploads } from './migrations/013-recent-uploads.ts';

export const knowledgeSchema: SchemaDeclaration = {
  name: 'knowledge',
  extensions: { vector: '0.8.5' },
  tables: {
    knowledge_usage: 'tenant',
    knowledge_bases: 'tenant',
    knowledge_documents: 'tenant',
    knowledge_chunks: 'tenant',
    knowledge_uploads: 'tenant',
    unsearched_generations: 'internal',
    knowledge_base_models: 'internal',
    knowledge_model_in_use: 'internal',
  },
  migrations: [
    knowledge,
    unsearchedGenerations,
    retrieval,
    uploads,
    chunksByTenant,
    deletedTexts,
    wordsBetweenSigns,
    deletedWithoutText,
    uploadOfDocument,
    parseWarnings,
    namesInSearch,
    uploadReservations,
    recentUploads,
  ],
};
