import { join } from 'node:path';

/** The folder of the checkout. Commands run in this folder, tests in the folder of their workspace. */
export const root = join(import.meta.dirname, '../..');
