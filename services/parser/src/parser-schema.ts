import type { SchemaDeclaration } from '@parley/postgres/database/types';

/** Jobs and inbox alone: what is parsed is kept by knowledge. */
export const parserSchema: SchemaDeclaration = { name: 'parser', tables: {}, migrations: [] };
