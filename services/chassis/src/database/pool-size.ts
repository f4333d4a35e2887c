import { positiveInt } from '../config.ts';

/**
 * How many connections one service opens at most in one process. All of a mesh together open this times its processes that keep a
 * schema, and a database serves fewest connections best: about four for each of its processors.
 */
export const poolSizeSetting = { DATABASE_POOL_SIZE: positiveInt.default(4) };
