import { join } from 'node:path';

/** The folder of the checkout. Commands run there; tests run in their workspace. */
export const root = join(import.meta.dirname, '../../..');
