import { declareService } from '@parley/service/declaration';
import { parserSettings } from './config.ts';
import { parserSchema } from './parser-schema.ts';

export const parserDeclaration = declareService({
  name: 'parser',
  serves: [],
  settings: parserSettings,
  calls: ['knowledge'],
  schema: parserSchema,
  consumes: ['document.uploaded.v1'],
  keepsFiles: true,
});
