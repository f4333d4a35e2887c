import type { SchemaDeclaration } from '@parley/postgres/database/types';

/** A schema with only the job and inbox tables; parsed texts are stored by knowledge. */
export const parserSchema: SchemaDeclaration = { name: 'parser', tables: {}, migrations: [] };
