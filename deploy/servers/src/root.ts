import { join } from 'node:path';

/** The folder of the checkout; commands run there, tests in their workspace. */
export const root = join(import.meta.dirname, '../../..');
