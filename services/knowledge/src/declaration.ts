import { usualRetentionMs } from '@parley/events/topics';
import { declareService } from '@parley/service/declaration';
import { knowledgeSettings } from './config.ts';
import { knowledgeSchema } from './knowledge-schema.ts';

export const knowledgeDeclaration = declareService({
  name: 'knowledge',
  serves: ['rpc', 'graph'],
  settings: knowledgeSettings,
  calls: ['identity'],
  callsOut: true,
  schema: knowledgeSchema,
  publishes: [
    { name: 'document-uploaded', types: ['document.uploaded.v1'], partitions: 12, retentionMs: usualRetentionMs },
  ],
  keepsFiles: true,
});
