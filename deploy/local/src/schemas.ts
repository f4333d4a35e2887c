import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { units } from './units.ts';

/** What every service keeps in a database, in the order in which units start. */
export const schemas: SchemaDeclaration[] = units.flatMap(({ schema }) => schema ?? []);
