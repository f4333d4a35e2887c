import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { units } from './units.ts';

/** The database schemas of all services, in the order in which units start. */
export const schemas: SchemaDeclaration[] = units.flatMap(({ schema }) => schema ?? []);
